//! Prints requests as the generated types write them, one a line: the embedding of an image with a text, and a rerank of
//! both: `usage FILE`, which holds the image's data URI.

#[path = "../generated/src/models/mod.rs"]
#[allow(dead_code, unused_imports)]
mod models;

use models::{ContentPart, EmbeddingRequest, ImageUrl, ImageUrlPart, InputItem, RerankItem, RerankRequest, TextPart};

fn main() {
    let file = std::env::args().nth(1).expect("a file");
    let url = std::fs::read_to_string(file).expect("an image's data URI");
    let mut image = ImageUrlPart::new(models::image_url_part::Type::ImageUrl);
    image.image_url = Some(Box::new(ImageUrl::new(url)));
    let text = TextPart::new(models::text_part::Type::Text, "a red circle".into());
    let content = vec![ContentPart::ImageUrl(Box::new(image)), ContentPart::Text(Box::new(text))];
    let fused = RerankItem { content: Some(content.clone()), ..RerankItem::new() };
    let embedding = EmbeddingRequest { inputs: Some(vec![InputItem::new(content)]), ..EmbeddingRequest::new() };
    println!("{}", serde_json::to_string(&embedding).expect("JSON"));
    let documents = vec![item("a green triangle"), fused];
    println!("{}", serde_json::to_string(&RerankRequest::new(item("a red circle"), documents)).expect("JSON"));
}

fn item(text: &str) -> RerankItem {
    RerankItem { text: Some(text.into()), ..RerankItem::new() }
}
