# A program written against the generated gem, as a user would: `usage.rb URL IMAGE`. It holds the answers against each
# other. Base64 and raw bytes are not used: the SDK profile writes a vector as numbers only.

$LOAD_PATH.unshift(File.join(__dir__, "generated", "lib"))
require "base64"
require "cenote"
require "uri"

INSTRUCTION = "Represent the colors of the image.".freeze

def check(holds, what) = holds || abort("not so: #{what}")

def close(got, want)
  check(got.size == want.size && got.zip(want).all? { |a, b| (a - b).abs < 1e-5 }, "the same vector")
end

url, file = ARGV
address = URI(url)
Cenote.configure do |config|
  config.scheme = address.scheme
  config.host = "#{address.host}:#{address.port}"
  config.server_index = nil
end
IMAGE = "data:image/png;base64,#{Base64.strict_encode64(File.binread(file))}".freeze

def fused(image = IMAGE)
  part = Cenote::ImageUrlPart.new(type: "image_url", image_url: Cenote::ImageUrl.new(url: image))
  [part, Cenote::TextPart.new(type: "text", text: "a red circle")]
end

embeddings = Cenote::EmbeddingsApi.new
request = Cenote::EmbeddingRequest.new(inputs: [Cenote::InputItem.new(content: fused)], instruction: INSTRUCTION, dimensions: 64)
answer = embeddings.create_embedding(request)
check(answer.is_a?(Cenote::EmbeddingResponse) && answer.usage.image_tokens.positive?, "a typed answer")
want = answer.data.first.embedding
check((want.sum { |x| x * x } - 1).abs < 1e-5, "a vector of length one")

system = Cenote::Message.new(role: Cenote::Role::SYSTEM, content: [Cenote::TextPart.new(type: "text", text: INSTRUCTION)])
user = Cenote::Message.new(role: Cenote::Role::USER, content: fused)
messages = Cenote::EmbeddingRequest.new(messages: [system, user], dimensions: 64)
close(embeddings.create_embedding(messages).data.first.embedding, want)

cohere = Cenote::CohereEmbedRequest.new(
  inputs: [Cenote::InputItem.new(content: fused)], instruction: INSTRUCTION, output_dimension: 64,
  embedding_types: [Cenote::CohereEmbeddingType::FLOAT], truncate: Cenote::CohereTruncate::CUT_END
)
close(embeddings.embed(cohere).embeddings.float.first, want)

query = Cenote::RerankItem.new(text: "a red circle")
documents = [Cenote::RerankItem.new(text: "a green triangle"), query, Cenote::RerankItem.new(content: fused)]
scores = Cenote::ScoresApi.new
data = scores.create_score(Cenote::ScoreRequest.new(queries: [query], documents: documents)).data
ranking = data.sort_by { |one| -one.score }
results = scores.create_rerank(Cenote::RerankRequest.new(query: query, documents: documents)).results
check(results.map(&:index) == ranking.map(&:index), "the best first")
close(results.map(&:relevance_score), ranking.map(&:score))
best = scores.rerank_v2(Cenote::CohereRerankRequest.new(query: query, documents: documents, top_n: 1)).results
check(best.map(&:index) == [ranking.first.index], "the best alone")
check(embeddings.embed_tei(Cenote::TeiEmbedRequest.new(inputs: ["a red circle", ""])).size == 2, "two vectors")
check(!Cenote::ModelsApi.new.get_info.model_type.embedding.nil?, "an embedder")

begin
  embeddings.create_embedding(Cenote::EmbeddingRequest.new(input: ["x"], dimensions: 4096))
  check(false, "refused")
rescue Cenote::ApiError => e
  error = JSON.parse(e.response_body, symbolize_names: true)
  typed = Cenote::ErrorResponse.build_from_hash(error).error
  check(e.code == 400 && typed.code == Cenote::ErrorCode::INVALID_DIMENSIONS, typed.message)
end

broken = "data:image/png;base64,bm90IGEgcGljdHVyZQ=="
items = [broken, IMAGE].map { |image| Cenote::InputItem.new(content: fused(image)) }
each = Cenote::EmbeddingRequest.new(inputs: items, instruction: INSTRUCTION, dimensions: 64, on_error: Cenote::OnError::PER_ITEM)
data = embeddings.create_embedding(each).data
check(data[0].embedding.nil? && data[0].error.index.zero?, "an error and no vector")
close(data[1].embedding, want)

check(Cenote::ModelsApi.new.list_models.data.first.id == "builtin", "the model")
