// Errors: of a whole request, and of one item beside others that are well.

package main

import (
	"context"
	"errors"
	"net/http"

	"example.org/cenote/cenote"
)

const noImage = "data:image/png;base64,bm90IGEgcGljdHVyZQ=="

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

func itemsHaveErrorsOfTheirOwn(client *cenote.APIClient, image string, want []float32) {
	request := cenote.NewEmbeddingRequest()
	request.SetInputs([]cenote.InputItem{*cenote.NewInputItem(fused(noImage)), *cenote.NewInputItem(fused(image))})
	request.SetInstruction(instruction)
	request.SetDimensions(dimensions)
	request.SetOnError(cenote.PER_ITEM)
	answer, _, err := client.EmbeddingsAPI.CreateEmbedding(context.Background()).EmbeddingRequest(*request).Execute()
	check(err == nil && len(answer.Data) == 2, "an entry for each, not %v", err)
	bad, good := answer.Data[0], answer.Data[1]
	var failure *cenote.ErrorBody = bad.Error
	check(failure != nil && bad.Embedding == nil, "an error and no vector")
	check(failure.Code == cenote.MEDIA_UNDECODABLE && failure.GetIndex() == 0, "%s", failure.Message)
	check(!good.HasError(), "the other item is well")
	checkClose(good.Embedding, want)
}
