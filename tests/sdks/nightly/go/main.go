// A program written against the generated module, as a user would: `usage URL PICTURE`.
//
// Every field is read into a variable whose type is written out, so that it compiles only while the types are as a
// reader of the document expects. Run, it holds the answers against each other.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"math"
	"net/http"
	"os"

	"example.org/cenote/cenote"
)

const (
	instruction = "Represent the colors of the image."
	dimensions  = int32(64)
)

// fused is a picture and a text, in this order.
func fused(picture string) []cenote.ContentPart {
	image := cenote.NewImageUrlPart("image_url", *cenote.NewImageUrl(picture))
	text := cenote.NewTextPart("text", "a red circle")
	return []cenote.ContentPart{cenote.ImageUrlPartAsContentPart(image), cenote.TextPartAsContentPart(text)}
}

// vector is the only one of an answer.
func vector(client *cenote.APIClient, request *cenote.EmbeddingRequest) []float32 {
	request.SetDimensions(dimensions)
	answer, _, err := client.EmbeddingsAPI.CreateEmbedding(context.Background()).EmbeddingRequest(*request).Execute()
	check(err == nil, "an answer, not %v", err)
	var usage cenote.Usage = answer.Usage
	check(usage.ImageTokens > 0, "a picture was read")
	var data []cenote.EmbeddingData = answer.Data
	check(len(data) == 1 && data[0].Index == 0, "one vector, not %d", len(data))
	return data[0].Embedding
}

func inputsGiveAVector(client *cenote.APIClient, picture string) []float32 {
	request := cenote.NewEmbeddingRequest()
	request.SetInputs([]cenote.InputItem{*cenote.NewInputItem(fused(picture))})
	request.SetInstruction(instruction)
	numbers := vector(client, request)
	square := 0.0
	for _, x := range numbers {
		square += float64(x) * float64(x)
	}
	check(math.Abs(square-1) < 1e-5, "|v|² = %v is 1", square)
	return numbers
}

func messagesGiveTheSame(client *cenote.APIClient, picture string, want []float32) {
	system := []cenote.ContentPart{cenote.TextPartAsContentPart(cenote.NewTextPart("text", instruction))}
	request := cenote.NewEmbeddingRequest()
	request.SetMessages([]cenote.Message{
		*cenote.NewMessage(cenote.SYSTEM, system),
		*cenote.NewMessage(cenote.USER, fused(picture)),
	})
	checkClose(vector(client, request), want)
}

func cohereGivesTheSame(client *cenote.APIClient, picture string, want []float32) {
	request := cenote.NewCohereEmbedRequest()
	request.SetInputs([]cenote.InputItem{*cenote.NewInputItem(fused(picture))})
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

func errorsAreTyped(client *cenote.APIClient) {
	request := cenote.NewEmbeddingRequest()
	request.SetInput([]string{"x"})
	request.SetDimensions(4096)
	_, response, err := client.EmbeddingsAPI.CreateEmbedding(context.Background()).EmbeddingRequest(*request).Execute()
	check(response != nil && response.StatusCode == http.StatusBadRequest, "refused")
	var failure *cenote.GenericOpenAPIError
	check(errors.As(err, &failure), "an error of the client, not %T", err)
	body, isTyped := failure.Model().(cenote.ErrorResponse)
	check(isTyped, "the document's error, not %T", failure.Model())
	var code cenote.ErrorCode = body.Error.Code
	check(code == cenote.INVALID_DIMENSIONS && body.Error.GetParam() == "dimensions", "%s", body.Error.Message)
}

func modelsAreTyped(client *cenote.APIClient) {
	models, _, err := client.ModelsAPI.ListModels(context.Background()).Execute()
	check(err == nil, "a list, not %v", err)
	card, _, err := client.ModelsAPI.GetModel(context.Background(), models.Data[0].Id).Execute()
	check(err == nil, "a card, not %v", err)
	var pooling cenote.Pooling = card.Pooling
	check(pooling.IsValid(), "a pooling")
}

func checkClose(got, want []float32) {
	check(len(got) == len(want), "%d components are %d", len(got), len(want))
	for i := range got {
		check(math.Abs(float64(got[i]-want[i])) < 1e-5, "component %d: %v is %v", i, got[i], want[i])
	}
}

func check(holds bool, format string, arguments ...any) {
	if !holds {
		log.Fatal("not so: " + fmt.Sprintf(format, arguments...))
	}
}

func main() {
	bytes, err := os.ReadFile(os.Args[2])
	check(err == nil, "a picture, not %v", err)
	picture := "data:image/png;base64," + base64.StdEncoding.EncodeToString(bytes)
	configuration := cenote.NewConfiguration()
	configuration.Servers = cenote.ServerConfigurations{{URL: os.Args[1]}}
	client := cenote.NewAPIClient(configuration)
	want := inputsGiveAVector(client, picture)
	messagesGiveTheSame(client, picture, want)
	cohereGivesTheSame(client, picture, want)
	errorsAreTyped(client)
	modelsAreTyped(client)
}
