<?php
// A program written against the generated classes, as a user would: `usage.php URL IMAGE`. It holds the answers against
// each other. Base64 and raw bytes are not used: the SDK profile writes a vector as numbers only.

declare(strict_types=1);

require "GuzzleHttp/autoload.php";
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . "/generated/lib/" . str_replace(["Cenote\\", "\\"], ["", "/"], $class) . ".php";
    if (str_starts_with($class, "Cenote\\") && is_file($file)) {
        require $file;
    }
});

use Cenote\Api\EmbeddingsApi;
use Cenote\Api\ModelsApi;
use Cenote\Api\ScoresApi;
use Cenote\ApiException;
use Cenote\Configuration;
use Cenote\Model\CohereEmbeddingType;
use Cenote\Model\CohereEmbedRequest;
use Cenote\Model\CohereRerankRequest;
use Cenote\Model\CohereTruncate;
use Cenote\Model\EmbeddingRequest;
use Cenote\Model\ErrorCode;
use Cenote\Model\ErrorResponse;
use Cenote\Model\ImageUrl;
use Cenote\Model\ImageUrlPart;
use Cenote\Model\InputItem;
use Cenote\Model\Message;
use Cenote\Model\OnError;
use Cenote\Model\RerankItem;
use Cenote\Model\RerankRequest;
use Cenote\Model\Role;
use Cenote\Model\ScoreRequest;
use Cenote\Model\TeiEmbedRequest;
use Cenote\Model\TextPart;

const INSTRUCTION = "Represent the colors of the image.";

function check(bool $holds, string $what): void
{
    if (!$holds) {
        fwrite(STDERR, "not so: $what\n");
        exit(1);
    }
}

function checkClose(array $got, array $want): void
{
    check(count($got) === count($want), "as many components");
    foreach ($got as $i => $value) {
        check(abs($value - $want[$i]) < 1e-5, "component $i");
    }
}

function fused(string $image): array
{
    $part = new ImageUrlPart(["type" => "image_url", "image_url" => new ImageUrl(["url" => $image])]);
    return [$part, new TextPart(["type" => "text", "text" => "a red circle"])];
}

function item(string $image): InputItem
{
    return new InputItem(["content" => fused($image)]);
}

[, $url, $file] = $argv;
$image = "data:image/png;base64," . base64_encode(file_get_contents($file));
$configuration = Configuration::getDefaultConfiguration()->setHost($url);
$embeddings = new EmbeddingsApi(new GuzzleHttp\Client(), $configuration);
$asked = ["instruction" => INSTRUCTION, "dimensions" => 64];

$answer = $embeddings->createEmbedding(new EmbeddingRequest(["inputs" => [item($image)]] + $asked));
check($answer->getUsage()->getImageTokens() > 0, "a typed answer");
$want = $answer->getData()[0]->getEmbedding();
check(abs(array_sum(array_map(fn ($x) => $x * $x, $want)) - 1) < 1e-5, "a vector of length one");

$system = new Message(["role" => Role::SYSTEM, "content" => [new TextPart(["type" => "text", "text" => INSTRUCTION])]]);
$user = new Message(["role" => Role::USER, "content" => fused($image)]);
$answer = $embeddings->createEmbedding(new EmbeddingRequest(["messages" => [$system, $user], "dimensions" => 64]));
checkClose($answer->getData()[0]->getEmbedding(), $want);

$cohere = new CohereEmbedRequest([
    "inputs" => [item($image)], "instruction" => INSTRUCTION, "output_dimension" => 64,
    "embedding_types" => [CohereEmbeddingType::FLOAT], "truncate" => CohereTruncate::CUT_END,
]);
checkClose($embeddings->embed($cohere)->getEmbeddings()->getFloat()[0], $want);

$query = new RerankItem(["text" => "a red circle"]);
$documents = [new RerankItem(["text" => "a green triangle"]), $query, new RerankItem(["content" => fused($image)])];
$scores = new ScoresApi(new GuzzleHttp\Client(), $configuration);
$data = $scores->createScore(new ScoreRequest(["queries" => [$query], "documents" => $documents]))->getData();
usort($data, fn ($one, $other) => $other->getScore() <=> $one->getScore());
$ranking = array_map(fn ($one) => $one->getPlace(), $data);
$results = $scores->createRerank(new RerankRequest(["query" => $query, "documents" => $documents]))->getResults();
check(array_map(fn ($one) => $one->getPlace(), $results) === $ranking, "the best first");
checkClose(array_map(fn ($one) => $one->getRelevanceScore(), $results), array_map(fn ($one) => $one->getScore(), $data));
$best = new CohereRerankRequest(["query" => $query, "documents" => $documents, "top_n" => 1]);
check($scores->rerankV2($best)->getResults()[0]->getPlace() === $ranking[0], "the best alone");
check(count($embeddings->embedTei(new TeiEmbedRequest(["inputs" => ["a red circle", ""]]))) === 2, "two vectors");
$models = new ModelsApi(new GuzzleHttp\Client(), $configuration);
check($models->getInfo()->getModelType()->getEmbedding() !== null, "an embedder");

try {
    $embeddings->createEmbedding(new EmbeddingRequest(["input" => ["x"], "dimensions" => 4096]));
    check(false, "refused");
} catch (ApiException $refused) {
    $error = $refused->getResponseObject();
    check($refused->getCode() === 400 && $error instanceof ErrorResponse, "the document's error");
    check($error->getError()->getCode() === ErrorCode::INVALID_DIMENSIONS, $error->getError()->getMessage());
}

$broken = "data:image/png;base64,bm90IGEgcGljdHVyZQ==";
$each = ["inputs" => [item($broken), item($image)], "on_error" => OnError::PER_ITEM] + $asked;
$data = $embeddings->createEmbedding(new EmbeddingRequest($each))->getData();
check($data[0]->getEmbedding() === null && $data[0]->getError()->getPlace() === 0, "an error and no vector");
checkClose($data[1]->getEmbedding(), $want);

check($models->listModels()->getData()[0]->getId() === "builtin", "the model");
