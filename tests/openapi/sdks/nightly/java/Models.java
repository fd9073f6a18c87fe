import cenote.ApiException;
import cenote.api.ModelsApi;
import cenote.model.Modality;
import cenote.model.ModelCard;

/** What is served. */
final class Models {
  private final ModelsApi models;

  Models(ModelsApi models) {
    this.models = models;
  }

  void modelsAreTyped() throws ApiException {
    ModelCard card = models.getModel(models.listModels().getData().get(0).getId());
    Checks.check(card.getModalities().contains(Modality.IMAGE), "images are taken");
  }
}
