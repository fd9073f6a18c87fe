import cenote.ApiClient;
import cenote.ApiException;
import cenote.JSON;
import cenote.api.EmbeddingsApi;
import cenote.api.ModelsApi;
import cenote.model.CohereEmbedRequest;
import cenote.model.CohereEmbedResponse;
import cenote.model.CohereEmbeddingType;
import cenote.model.ContentPart;
import cenote.model.EmbeddingData;
import cenote.model.EmbeddingRequest;
import cenote.model.EmbeddingResponse;
import cenote.model.ErrorBody;
import cenote.model.ErrorCode;
import cenote.model.ErrorResponse;
import cenote.model.ImageUrl;
import cenote.model.ImageUrlPart;
import cenote.model.InputItem;
import cenote.model.Message;
import cenote.model.Modality;
import cenote.model.ModelCard;
import cenote.model.Role;
import cenote.model.TextPart;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;

/**
 * A program written against the generated classes, as a user would: {@code java Usage URL PICTURE}.
 *
 * <p>Every field is read into a variable of the type that a reader of the document expects. Run, the program holds the
 * answers against each other.
 */
public final class Usage {
  private static final String INSTRUCTION = "Represent the colors of the image.";
  private static final int DIMENSIONS = 64;

  private final EmbeddingsApi embeddings;
  private final ModelsApi models;
  private final String picture;

  private Usage(ApiClient client, String picture) {
    this.embeddings = new EmbeddingsApi(client);
    this.models = new ModelsApi(client);
    this.picture = picture;
  }

  private static ContentPart text(String text) {
    return new ContentPart(new TextPart().type(TextPart.TypeEnum.TEXT).text(text));
  }

  /** A picture and a text, in this order. */
  private List<ContentPart> fused() {
    ImageUrlPart image = new ImageUrlPart().type(ImageUrlPart.TypeEnum.IMAGE_URL).imageUrl(new ImageUrl().url(picture));
    return List.of(new ContentPart(image), text("a red circle"));
  }

  /** The only vector of an answer. */
  private List<Float> vector(EmbeddingRequest request) throws ApiException {
    EmbeddingResponse answer = embeddings.createEmbedding(request.dimensions(DIMENSIONS));
    check(answer.getUsage().getImageTokens() > 0, "a picture was read");
    List<EmbeddingData> data = answer.getData();
    check(data.size() == 1 && data.get(0).getIndex() == 0, "one vector");
    return data.get(0).getEmbedding();
  }

  private List<Float> inputsGiveAVector() throws ApiException {
    EmbeddingRequest request = new EmbeddingRequest().addInputsItem(new InputItem().content(fused()));
    List<Float> numbers = vector(request.instruction(INSTRUCTION));
    double square = numbers.stream().mapToDouble(x -> x * x).sum();
    check(Math.abs(square - 1) < 1e-5, "a vector of length 1");
    return numbers;
  }

  private void messagesGiveTheSame(List<Float> want) throws ApiException {
    Message system = new Message().role(Role.SYSTEM).addContentItem(text(INSTRUCTION));
    Message user = new Message().role(Role.USER).content(fused());
    checkClose(vector(new EmbeddingRequest().messages(List.of(system, user))), want);
  }

  private void cohereGivesTheSame(List<Float> want) throws ApiException {
    CohereEmbedRequest request = new CohereEmbedRequest().addInputsItem(new InputItem().content(fused()));
    request.instruction(INSTRUCTION).outputDimension(DIMENSIONS);
    request.embeddingTypes(List.of(CohereEmbeddingType.FLOAT, CohereEmbeddingType.UBINARY));
    CohereEmbedResponse answer = embeddings.embed(request);
    List<List<Integer>> bits = answer.getEmbeddings().getUbinary();
    checkClose(answer.getEmbeddings().getFloat().get(0), want);
    check(bits.get(0).size() == DIMENSIONS / 8, "eight components to a number");
    check(answer.getEmbeddings().getInt8() == null, "no format but those asked for");
  }

  private void errorsAreTyped() throws Exception {
    try {
      embeddings.createEmbedding(new EmbeddingRequest().addInputItem("x").dimensions(4096));
      check(false, "refused");
    } catch (ApiException refused) {
      check(refused.getCode() == 400, "status 400");
      String body = refused.getResponseBody();
      ErrorBody error = JSON.getDefault().getMapper().readValue(body, ErrorResponse.class).getError();
      check(error.getCode() == ErrorCode.INVALID_DIMENSIONS, error.getMessage());
      check(error.getParam().equals("dimensions"), error.getMessage());
    }
  }

  private void modelsAreTyped() throws ApiException {
    ModelCard card = models.getModel(models.listModels().getData().get(0).getId());
    check(card.getModalities().contains(Modality.IMAGE), "pictures are taken");
  }

  private static void checkClose(List<Float> got, List<Float> want) {
    check(got.size() == want.size(), "as many components");
    for (int i = 0; i < got.size(); i++) {
      check(Math.abs(got.get(i) - want.get(i)) < 1e-5, "component " + i);
    }
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("not so: " + what);
    }
  }

  public static void main(String[] arguments) throws Exception {
    byte[] bytes = Files.readAllBytes(Path.of(arguments[1]));
    ApiClient client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    Usage usage = new Usage(client, "data:image/png;base64," + Base64.getEncoder().encodeToString(bytes));
    List<Float> want = usage.inputsGiveAVector();
    usage.messagesGiveTheSame(want);
    usage.cohereGivesTheSame(want);
    usage.errorsAreTyped();
    usage.modelsAreTyped();
  }
}
