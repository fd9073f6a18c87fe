import cenote.model.ContentPart;
import cenote.model.ImageUrl;
import cenote.model.ImageUrlPart;
import cenote.model.TextPart;
import java.util.List;

/** What every request of the program is made of. */
final class Parts {
  static final String INSTRUCTION = "Represent the colors of the image.";
  static final int DIMENSIONS = 64;

  private Parts() {}

  static ContentPart text(String text) {
    return new ContentPart(new TextPart().type(TextPart.TypeEnum.TEXT).text(text));
  }

  static ImageUrlPart image(String image) {
    return new ImageUrlPart().type(ImageUrlPart.TypeEnum.IMAGE_URL).imageUrl(new ImageUrl().url(image));
  }

  /** An image and a text, in this order. */
  static List<ContentPart> fused(String image) {
    return List.of(new ContentPart(image(image)), text("a red circle"));
  }
}
