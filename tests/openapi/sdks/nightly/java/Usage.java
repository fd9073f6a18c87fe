import cenote.ApiClient;
import cenote.api.EmbeddingsApi;
import cenote.api.ModelsApi;
import cenote.api.ScoresApi;
import cenote.api.TokensApi;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;

/**
 * A program written against the generated classes, as a user would: {@code java Usage URL IMAGE}.
 *
 * <p>Every field is read into a variable of the type that a reader of the document expects. Run, the program holds the
 * answers against each other.
 *
 * <p>Not used are base64 and raw bytes ({@code Accept: application/octet-stream}): the SDK profile writes a vector as
 * numbers only.
 */
public final class Usage {
  private Usage() {}

  public static void main(String[] arguments) throws Exception {
    byte[] bytes = Files.readAllBytes(Path.of(arguments[1]));
    String image = "data:image/png;base64," + Base64.getEncoder().encodeToString(bytes);
    ApiClient client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    EmbeddingsApi embeddings = new EmbeddingsApi(client);
    Vectors vectors = new Vectors(embeddings, image);
    List<Float> want = vectors.inputsGiveAVector();
    vectors.messagesGiveTheSame(want);
    vectors.cohereGivesTheSame(want);
    new Features(embeddings, vectors).featuresGiveTheSame(image, want);
    Tokens tokens = new Tokens(new TokensApi(client));
    tokens.tokensOfAnImageAreCounted(image);
    tokens.tokensAreTextAgain();
    ModelsApi models = new ModelsApi(client);
    Scores scores = new Scores(new ScoresApi(client));
    scores.rerankGivesTheScores(image);
    scores.teiIsAnswered(embeddings, models);
    Failures failures = new Failures(embeddings);
    failures.errorsAreTyped();
    failures.itemsHaveErrorsOfTheirOwn(image, want);
    new Models(models).modelsAreTyped();
  }
}
