// The second stage: documents in the order of their relevance, scores of pairs, and what clients of TEI ask.

package main

import (
	"context"

	"example.org/cenote/cenote"
)

func item(words string) cenote.RerankItem {
	item := cenote.NewRerankItem()
	item.SetText(words)
	return *item
}

func rerankGivesTheScores(client *cenote.APIClient, image string) {
	query, picture := item("a red circle"), cenote.NewRerankItem()
	picture.SetContent(fused(image))
	documents := []cenote.RerankItem{item("a green triangle"), item("a red circle"), *picture}
	pairs := cenote.NewScoreRequest()
	pairs.SetQueries([]cenote.RerankItem{query})
	pairs.SetDocuments(documents)
	scored, _, err := client.ScoresAPI.CreateScore(context.Background()).ScoreRequest(*pairs).Execute()
	check(err == nil, "scores, not %v", err)
	var data []cenote.ScoreData = scored.Data

	request := *cenote.NewRerankRequest(query, documents)
	answer, _, err := client.ScoresAPI.CreateRerank(context.Background()).RerankRequest(request).Execute()
	check(err == nil, "an answer, not %v", err)
	var results []cenote.RerankResult = answer.Results
	check(len(results) == len(data) && answer.Usage.ImageTokens > 0, "a result for each document")
	for i, one := range results {
		checkClose([]float32{one.RelevanceScore}, []float32{data[one.Index].GetScore()})
		check(i == 0 || one.RelevanceScore <= results[i-1].RelevanceScore, "the best first")
	}

	best := cenote.NewCohereRerankRequest(query, documents)
	best.SetTopN(1)
	cohere, _, err := client.ScoresAPI.RerankV2(context.Background()).CohereRerankRequest(*best).Execute()
	check(err == nil && len(cohere.Results) == 1, "the best alone, not %v", err)
	check(cohere.Results[0].Index == results[0].Index, "the same best")
}

func teiIsAnswered(client *cenote.APIClient) {
	request := *cenote.NewTeiEmbedRequest([]string{"a red circle", ""})
	vectors, _, err := client.EmbeddingsAPI.EmbedTei(context.Background()).TeiEmbedRequest(request).Execute()
	check(err == nil && len(vectors) == 2, "two vectors, not %v", err)
	var first []float32 = vectors[0]
	info, _, err := client.ModelsAPI.GetInfo(context.Background()).Execute()
	check(err == nil && len(first) > 0 && info.ModelType.HasEmbedding(), "an embedder, not %v", err)
}
