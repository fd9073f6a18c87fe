// What is served.

package main

import (
	"context"

	"example.org/cenote/cenote"
)

func modelsAreTyped(client *cenote.APIClient) {
	models, _, err := client.ModelsAPI.ListModels(context.Background()).Execute()
	check(err == nil, "a list, not %v", err)
	card, _, err := client.ModelsAPI.GetModel(context.Background(), models.Data[0].Id).Execute()
	check(err == nil, "a card, not %v", err)
	var pooling cenote.Pooling = card.Pooling
	check(pooling.IsValid(), "a pooling")
}
