// Vectors of an image with a text, in every form in which they can be asked for.

package main

import (
	"context"
	"math"

	"example.org/cenote/cenote"
)

const (
	instruction = "Represent the colors of the image."
	dimensions  = int32(64)
)

func text(words string) cenote.ContentPart {
	return cenote.TextPartAsContentPart(cenote.NewTextPart("text", words))
}

func imagePart(image string) cenote.ImageUrlPart {
	part := cenote.NewImageUrlPart("image_url")
	part.SetImageUrl(*cenote.NewImageUrl(image))
	return *part
}

// fused is an image and a text, in this order.
func fused(image string) []cenote.ContentPart {
	part := imagePart(image)
	return []cenote.ContentPart{cenote.ImageUrlPartAsContentPart(&part), text("a red circle")}
}

// vector is the only one of an answer.
func vector(client *cenote.APIClient, request *cenote.EmbeddingRequest) []float32 {
	request.SetDimensions(dimensions)
	answer, _, err := client.EmbeddingsAPI.CreateEmbedding(context.Background()).EmbeddingRequest(*request).Execute()
	check(err == nil, "an answer, not %v", err)
	var usage cenote.Usage = answer.Usage
	check(usage.ImageTokens > 0, "an image was read")
	var data []cenote.EmbeddingData = answer.Data
	check(len(data) == 1 && data[0].Index == 0, "one vector, not %d", len(data))
	return data[0].Embedding
}

func inputsGiveAVector(client *cenote.APIClient, image string) []float32 {
	request := cenote.NewEmbeddingRequest()
	request.SetInputs([]cenote.InputItem{*cenote.NewInputItem(fused(image))})
	request.SetInstruction(instruction)
	numbers := vector(client, request)
	square := 0.0
	for _, x := range numbers {
		square += float64(x) * float64(x)
	}
	check(math.Abs(square-1) < 1e-5, "|v|² = %v is 1", square)
	return numbers
}

func messagesGiveTheSame(client *cenote.APIClient, image string, want []float32) {
	system := []cenote.ContentPart{text(instruction)}
	request := cenote.NewEmbeddingRequest()
	request.SetMessages([]cenote.Message{
		*cenote.NewMessage(cenote.SYSTEM, system),
		*cenote.NewMessage(cenote.USER, fused(image)),
	})
	checkClose(vector(client, request), want)
}

func cohereGivesTheSame(client *cenote.APIClient, image string, want []float32) {
	request := cenote.NewCohereEmbedRequest()
	request.SetInputs([]cenote.InputItem{*cenote.NewInputItem(fused(image))})
	request.SetInstruction(instruction)
	request.SetOutputDimension(dimensions)
	request.SetEmbeddingTypes([]cenote.CohereEmbeddingType{cenote.FLOAT, cenote.UBINARY})
	answer, _, err := client.EmbeddingsAPI.Embed(context.Background()).CohereEmbedRequest(*request).Execute()
	check(err == nil, "an answer, not %v", err)
	var floats [][]float32 = answer.Embeddings.Float
	var bits [][]int32 = answer.Embeddings.Ubinary
	checkClose(floats[0], want)
	check(len(bits[0]) == int(dimensions)/8, "eight components to a number")
	check(!answer.Embeddings.HasInt8(), "no format but those asked for")
}
