import cenote.ApiException;
import cenote.JSON;
import cenote.api.EmbeddingsApi;
import cenote.model.EmbeddingData;
import cenote.model.EmbeddingRequest;
import cenote.model.ErrorBody;
import cenote.model.ErrorCode;
import cenote.model.ErrorResponse;
import cenote.model.InputItem;
import cenote.model.OnError;
import java.util.List;

/** Errors: of a whole request, and of one item beside others that are well. */
final class Failures {
  private static final String NO_IMAGE = "data:image/png;base64,bm90IGEgcGljdHVyZQ==";

  private final EmbeddingsApi embeddings;

  Failures(EmbeddingsApi embeddings) {
    this.embeddings = embeddings;
  }

  void errorsAreTyped() throws Exception {
    try {
      embeddings.createEmbedding(new EmbeddingRequest().addInputItem("x").dimensions(4096));
      Checks.check(false, "refused");
    } catch (ApiException refused) {
      Checks.check(refused.getCode() == 400, "status 400");
      String body = refused.getResponseBody();
      ErrorBody error = JSON.getDefault().getMapper().readValue(body, ErrorResponse.class).getError();
      Checks.check(error.getCode() == ErrorCode.INVALID_DIMENSIONS, error.getMessage());
      Checks.check(error.getParam().equals("dimensions"), error.getMessage());
    }
  }

  void itemsHaveErrorsOfTheirOwn(String image, List<Float> want) throws ApiException {
    EmbeddingRequest request = new EmbeddingRequest().instruction(Parts.INSTRUCTION).dimensions(Parts.DIMENSIONS);
    request.addInputsItem(new InputItem().content(Parts.fused(NO_IMAGE)));
    request.addInputsItem(new InputItem().content(Parts.fused(image)));
    List<EmbeddingData> data = embeddings.createEmbedding(request.onError(OnError.PER_ITEM)).getData();
    Checks.check(data.size() == 2, "an entry for each");
    ErrorBody error = data.get(0).getError();
    Checks.check(error != null && data.get(0).getEmbedding() == null, "an error and no vector");
    Checks.check(error.getCode() == ErrorCode.MEDIA_UNDECODABLE && error.getIndex() == 0, error.getMessage());
    Checks.check(data.get(1).getError() == null, "the other item is well");
    Checks.checkClose(data.get(1).getEmbedding(), want);
  }
}
