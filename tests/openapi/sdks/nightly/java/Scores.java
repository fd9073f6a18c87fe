import cenote.ApiException;
import cenote.api.EmbeddingsApi;
import cenote.api.ModelsApi;
import cenote.api.ScoresApi;
import cenote.model.CohereRerankRequest;
import cenote.model.RerankItem;
import cenote.model.RerankRequest;
import cenote.model.RerankResult;
import cenote.model.ScoreData;
import cenote.model.ScoreRequest;
import cenote.model.TeiEmbedRequest;
import cenote.model.TeiInfo;
import java.util.List;

/** The second stage: documents in the order of their relevance, scores of pairs, and what clients of TEI ask. */
final class Scores {
  private static final RerankItem QUERY = new RerankItem().text("a red circle");

  private final ScoresApi scores;

  Scores(ScoresApi scores) {
    this.scores = scores;
  }

  void rerankGivesTheScores(String image) throws ApiException {
    RerankItem picture = new RerankItem().content(Parts.fused(image));
    List<RerankItem> documents = List.of(new RerankItem().text("a green triangle"), QUERY, picture);
    ScoreRequest pairs = new ScoreRequest().addQueriesItem(QUERY).documents(documents);
    List<ScoreData> data = scores.createScore(pairs).getData();
    List<RerankResult> results = scores.createRerank(new RerankRequest().query(QUERY).documents(documents)).getResults();
    Checks.check(results.size() == data.size(), "a result for each document");
    float last = Float.POSITIVE_INFINITY;
    for (RerankResult one : results) {
      Checks.checkClose(List.of(one.getRelevanceScore()), List.of(data.get(one.getIndex()).getScore()));
      Checks.check(one.getRelevanceScore() <= last, "the best first");
      last = one.getRelevanceScore();
    }
    CohereRerankRequest best = new CohereRerankRequest().query(QUERY).documents(documents).topN(1);
    List<RerankResult> cohere = scores.rerankV2(best).getResults();
    Checks.check(cohere.size() == 1 && cohere.get(0).getIndex().equals(results.get(0).getIndex()), "the same best");
  }

  void teiIsAnswered(EmbeddingsApi embeddings, ModelsApi models) throws ApiException {
    List<List<Float>> vectors = embeddings.embedTei(new TeiEmbedRequest().inputs(List.of("a red circle", "")));
    TeiInfo info = models.getInfo();
    Checks.check(vectors.size() == 2 && info.getModelType().getEmbedding() != null, "an embedder");
  }
}
