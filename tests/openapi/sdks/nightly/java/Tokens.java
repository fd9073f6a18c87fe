import cenote.ApiException;
import cenote.api.TokensApi;
import cenote.model.DetokenizeRequest;
import cenote.model.DetokenizeResponse;
import cenote.model.InputItem;
import cenote.model.TokenizeData;
import cenote.model.TokenizeRequest;
import cenote.model.TokenizeResponse;
import java.util.List;

/** The tokens that a request would have, and back to text. */
final class Tokens {
  private final TokensApi tokens;

  Tokens(TokensApi tokens) {
    this.tokens = tokens;
  }

  private TokenizeResponse tokenized(TokenizeRequest request) throws ApiException {
    TokenizeResponse answer = tokens.tokenizeInputs(request);
    List<Integer> ids = answer.getTokens();
    Checks.check(answer.getCount() == ids.size(), "all are counted");
    return answer;
  }

  void tokensOfAnImageAreCounted(String image) throws ApiException {
    InputItem item = new InputItem().content(Parts.fused(image));
    TokenizeResponse answer = tokenized(new TokenizeRequest().addInputsItem(item));
    List<TokenizeData> data = answer.getData();
    Checks.check(data.size() == 1 && data.get(0).getCount().equals(answer.getCount()), "one input");
    int imageTokens = data.get(0).getImageTokens();
    Checks.check(imageTokens > 0 && imageTokens < answer.getCount(), "some stand for the image");
    Checks.check(answer.getTokenStrs() == null, "no text that nobody asked for");
  }

  void tokensAreTextAgain() throws ApiException {
    TokenizeResponse answer = tokenized(new TokenizeRequest().prompt("a red circle").returnTokenStrs(true));
    List<String> strs = answer.getTokenStrs();
    Checks.check(strs.size() == answer.getCount(), "a text for each");
    DetokenizeResponse text = tokens.detokenizeTokens(new DetokenizeRequest().tokens(answer.getTokens()));
    Checks.check(text.getPrompt().equals(String.join("", strs)), "the text of all tokens");
    Checks.check(text.getPrompt().contains("a red circle"), "the text again");
  }
}
