//! Prints a request of an image and a text as the generated types write it: `usage FILE`, which holds the image's data URI.

#[path = "../generated/src/models/mod.rs"]
#[allow(dead_code, unused_imports)]
mod models;

use models::{ContentPart, EmbeddingRequest, ImageUrl, ImageUrlPart, InputItem, TextPart};

fn main() {
    let file = std::env::args().nth(1).expect("a file");
    let url = std::fs::read_to_string(file).expect("an image's data URI");
    let mut image = ImageUrlPart::new(models::image_url_part::Type::ImageUrl);
    image.image_url = Some(Box::new(ImageUrl::new(url)));
    let text = TextPart::new(models::text_part::Type::Text, "a red circle".into());
    let content = vec![ContentPart::ImageUrl(Box::new(image)), ContentPart::Text(Box::new(text))];
    let request = EmbeddingRequest { inputs: Some(vec![InputItem::new(content)]), ..EmbeddingRequest::new() };
    println!("{}", serde_json::to_string(&request).expect("JSON"));
}
