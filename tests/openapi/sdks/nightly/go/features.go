// Vision features of an image, computed once and posted back in its place.

package main

import (
	"context"

	"example.org/cenote/cenote"
)

// features are those of one image, as the part to post back.
func features(client *cenote.APIClient, image string) cenote.ImageEmbedsPart {
	request := cenote.NewImageEmbedsRequest([]cenote.ImageUrlPart{imagePart(image)})
	request.SetEmbedDtype(cenote.FLOAT32)
	answer, _, err := client.EmbeddingsAPI.CreateImageEmbeds(context.Background()).ImageEmbedsRequest(*request).Execute()
	check(err == nil, "an answer, not %v", err)
	var data []cenote.ImageEmbedsData = answer.Data
	check(len(data) == 1 && data[0].HasPart(), "the features of one image")
	var shape []int32 = data[0].Shape
	check(len(shape) == 2 && shape[0] == answer.Usage.ImageTokens, "a row for each visual token")
	check(data[0].GetDtype() == cenote.FLOAT32, "the number format that was asked for")
	return data[0].GetPart()
}

func featuresGiveTheSame(client *cenote.APIClient, image string, want []float32) {
	part := features(client, image)
	user := []cenote.ContentPart{cenote.ImageEmbedsPartAsContentPart(&part), text("a red circle")}
	request := cenote.NewEmbeddingRequest()
	request.SetMessages([]cenote.Message{
		*cenote.NewMessage(cenote.SYSTEM, []cenote.ContentPart{text(instruction)}),
		*cenote.NewMessage(cenote.USER, user),
	})
	checkClose(vector(client, request), want)
}
