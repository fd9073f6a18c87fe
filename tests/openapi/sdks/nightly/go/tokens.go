// The tokens that a request would have, and back to text.

package main

import (
	"context"
	"strings"

	"example.org/cenote/cenote"
)

func tokenized(client *cenote.APIClient, request *cenote.TokenizeRequest) *cenote.TokenizeResponse {
	answer, _, err := client.TokensAPI.TokenizeInputs(context.Background()).TokenizeRequest(*request).Execute()
	check(err == nil, "tokens, not %v", err)
	var ids []int32 = answer.Tokens
	check(int(answer.Count) == len(ids), "all are counted")
	return answer
}

func tokensOfAnImageAreCounted(client *cenote.APIClient, image string) {
	request := cenote.NewTokenizeRequest()
	request.SetInputs([]cenote.InputItem{*cenote.NewInputItem(fused(image))})
	answer := tokenized(client, request)
	var data []cenote.TokenizeData = answer.Data
	check(len(data) == 1 && data[0].Count == answer.Count, "one input")
	check(0 < data[0].ImageTokens && data[0].ImageTokens < answer.Count, "some stand for the image")
	check(answer.TokenStrs == nil, "no text that nobody asked for")
}

func tokensAreTextAgain(client *cenote.APIClient) {
	request := cenote.NewTokenizeRequest()
	request.SetPrompt("a red circle")
	request.SetReturnTokenStrs(true)
	answer := tokenized(client, request)
	var strs []string = answer.TokenStrs
	check(len(strs) == int(answer.Count), "a text for each")
	ids := *cenote.NewDetokenizeRequest(answer.Tokens)
	text, _, err := client.TokensAPI.DetokenizeTokens(context.Background()).DetokenizeRequest(ids).Execute()
	check(err == nil, "a text, not %v", err)
	check(text.Prompt == strings.Join(strs, ""), "the text of all tokens")
	check(strings.Contains(text.Prompt, "a red circle"), "the text again")
}
