import cenote.ApiException;
import cenote.api.EmbeddingsApi;
import cenote.model.ContentPart;
import cenote.model.EmbedDtype;
import cenote.model.EmbeddingRequest;
import cenote.model.ImageEmbedsData;
import cenote.model.ImageEmbedsPart;
import cenote.model.ImageEmbedsRequest;
import cenote.model.ImageEmbedsResponse;
import cenote.model.Message;
import cenote.model.Role;
import java.util.List;

/** Vision features of an image, computed once and posted back in its place. */
final class Features {
  private final EmbeddingsApi embeddings;
  private final Vectors vectors;

  Features(EmbeddingsApi embeddings, Vectors vectors) {
    this.embeddings = embeddings;
    this.vectors = vectors;
  }

  /** The features of one image, as the part to post back. */
  private ImageEmbedsPart features(String image) throws ApiException {
    ImageEmbedsRequest request = new ImageEmbedsRequest().addImagesItem(Parts.image(image));
    ImageEmbedsResponse answer = embeddings.createImageEmbeds(request.embedDtype(EmbedDtype.FLOAT32));
    List<ImageEmbedsData> data = answer.getData();
    Checks.check(data.size() == 1, "one image");
    List<Integer> shape = data.get(0).getShape();
    Checks.check(shape.get(0).equals(answer.getUsage().getImageTokens()), "a row for each visual token");
    Checks.check(data.get(0).getDtype() == EmbedDtype.FLOAT32, "the number format that was asked for");
    return data.get(0).getPart();
  }

  void featuresGiveTheSame(String image, List<Float> want) throws ApiException {
    Message system = new Message().role(Role.SYSTEM).addContentItem(Parts.text(Parts.INSTRUCTION));
    Message user = new Message().role(Role.USER).addContentItem(new ContentPart(features(image)));
    user.addContentItem(Parts.text("a red circle"));
    Checks.checkClose(vectors.vector(new EmbeddingRequest().messages(List.of(system, user))), want);
  }
}
