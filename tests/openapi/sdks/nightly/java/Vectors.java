import cenote.ApiException;
import cenote.api.EmbeddingsApi;
import cenote.model.CohereEmbedRequest;
import cenote.model.CohereEmbedResponse;
import cenote.model.CohereEmbeddingType;
import cenote.model.EmbeddingData;
import cenote.model.EmbeddingRequest;
import cenote.model.EmbeddingResponse;
import cenote.model.InputItem;
import cenote.model.Message;
import cenote.model.Role;
import java.util.List;

/** Vectors of an image with a text, in every form in which they can be asked for. */
final class Vectors {
  private final EmbeddingsApi embeddings;
  private final String image;

  Vectors(EmbeddingsApi embeddings, String image) {
    this.embeddings = embeddings;
    this.image = image;
  }

  /** The only vector of an answer. */
  List<Float> vector(EmbeddingRequest request) throws ApiException {
    EmbeddingResponse answer = embeddings.createEmbedding(request.dimensions(Parts.DIMENSIONS));
    Checks.check(answer.getUsage().getImageTokens() > 0, "an image was read");
    List<EmbeddingData> data = answer.getData();
    Checks.check(data.size() == 1 && data.get(0).getIndex() == 0, "one vector");
    return data.get(0).getEmbedding();
  }

  List<Float> inputsGiveAVector() throws ApiException {
    EmbeddingRequest request = new EmbeddingRequest().addInputsItem(new InputItem().content(Parts.fused(image)));
    List<Float> numbers = vector(request.instruction(Parts.INSTRUCTION));
    double square = numbers.stream().mapToDouble(x -> x * x).sum();
    Checks.check(Math.abs(square - 1) < 1e-5, "a vector of length 1");
    return numbers;
  }

  void messagesGiveTheSame(List<Float> want) throws ApiException {
    Message system = new Message().role(Role.SYSTEM).addContentItem(Parts.text(Parts.INSTRUCTION));
    Message user = new Message().role(Role.USER).content(Parts.fused(image));
    Checks.checkClose(vector(new EmbeddingRequest().messages(List.of(system, user))), want);
  }

  void cohereGivesTheSame(List<Float> want) throws ApiException {
    CohereEmbedRequest request = new CohereEmbedRequest().addInputsItem(new InputItem().content(Parts.fused(image)));
    request.instruction(Parts.INSTRUCTION).outputDimension(Parts.DIMENSIONS);
    request.embeddingTypes(List.of(CohereEmbeddingType.FLOAT, CohereEmbeddingType.UBINARY));
    CohereEmbedResponse answer = embeddings.embed(request);
    List<List<Integer>> bits = answer.getEmbeddings().getUbinary();
    Checks.checkClose(answer.getEmbeddings().getFloat().get(0), want);
    Checks.check(bits.get(0).size() == Parts.DIMENSIONS / 8, "eight components to a number");
    Checks.check(answer.getEmbeddings().getInt8() == null, "no format but those asked for");
  }
}
