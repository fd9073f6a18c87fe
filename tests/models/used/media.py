"""Models of images, audio and video, of token vectors and of sparse ones that people serve."""

from tests.models.used.row import NAMES, NEW_KEYS, OLD, SETTINGS, TOKENIZER, entries, of, own, refused, served

PALIGEMMA = of(
    "paligemma", "ColPali", text_config={"model_type": "gemma"}, vision_config={"model_type": "siglip_vision_model"}
)
WITH_MEDIA = [
    served("qwen3_vl", "builtin", "Qwen/Qwen3-VL-Embedding-2B Qwen/Qwen3-VL-Embedding-8B",
           of("qwen3_vl", "Qwen3VLForConditionalGeneration")),
    # the classes' names were not seen
    served("gme_qwen2_vl", "qwen2_vl", "Alibaba-NLP/gme-Qwen2-VL-2B-Instruct Alibaba-NLP/gme-Qwen2-VL-7B-Instruct",
           of("qwen2_vl", "GmeQwen2VLForVision", **own("gme_inference.GmeQwen2VL"))),
    # its base's classes
    served("nomic_multimodal", "qwen2_5_vl", "nomic-ai/nomic-embed-multimodal-3b nomic-ai/nomic-embed-multimodal-7b",
           of("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration"), adapts={}, chosen=True),
    served("jina_v4", "qwen2_5_vl", "jinaai/jina-embeddings-v4",
           of("qwen2_5_vl", "JinaEmbeddingsV4Model", single_vector_pool_strategy="mean",
              multi_vector_projector_dim=128, **own("modeling_jina_embeddings_v4.JinaEmbeddingsV4Model")),
           tasks=("retrieval", "text-matching", "code"), in_one=True),
    refused("", "clip", "jinaai/jina-clip-v2",
            of("jina_clip", "JinaCLIPModel", **own("jinaai/jina-clip-implementation--modeling_clip.JinaCLIPModel")),
            why="both towers are of its own code"),
    refused("", "builtin", "nvidia/llama-nemotron-embed-vl-1b-v2",
            of("llama_nemotron_vl", "LlamaNemotronVLModel", **own("modeling_llama_nemotron_vl.LlamaNemotronVLModel")),
            why="its own code joins SigLIP and Llama"),
    # not seen
    refused("", "builtin", "nvidia/Nemotron-3.5-Embed-1B", of("mistral3", "Mistral3Model", is_causal=False),
            why="Mistral 3 with images is not built"),
    # by the reference's list; the file was not seen
    refused("", "builtin", "tencent/WeMM-Embedding-2B tencent/WeMM-Embedding-4B tencent/WeMM-Embedding-9B",
            of("qwen3_5", "Qwen3_5ForConditionalGeneration"), why="Qwen3.5 with images is not built"),
    refused("", "builtin", "LCO-Embedding/LCO-Embedding-Omni-3B LCO-Embedding/LCO-Embedding-Omni-7B",
            of("qwen2_5_omni_thinker", "Qwen2_5OmniThinkerForConditionalGeneration"), why="Qwen2.5-Omni is not built"),
    served("clip", "clip",
           "openai/clip-vit-base-patch32 openai/clip-vit-large-patch14 laion/CLIP-ViT-H-14-laion2B-s32B-b79K",
           of("clip", "CLIPModel")),
    refused("has no config.json; its folder 0_CLIPModel has one", "clip", "sentence-transformers/clip-ViT-B-32",
            of(None),
            {**entries((f"{OLD}.CLIPModel", "0_CLIPModel")),
             "0_CLIPModel/config.json": of("clip", "CLIPModel")},
            lacks=("config.json",), why="the same model is openai/clip-vit-base-patch32"),
    served("siglip", "siglip", "google/siglip-so400m-patch14-384", of("siglip", "SiglipModel"),
           {TOKENIZER: {"tokenizer_class": "SiglipTokenizer"}}),
    served("siglip2", "siglip", "google/siglip2-base-patch16-224 google/siglip2-so400m-patch14-384",
           of("siglip", "SiglipModel"), {TOKENIZER: {"tokenizer_class": "GemmaTokenizer"}}),
    served("siglip2", "siglip2-naflex", "google/siglip2-so400m-patch16-naflex", of("siglip2", "Siglip2Model")),
    served("clap", "clap", "laion/clap-htsat-fused laion/clap-htsat-unfused", of("clap", "ClapModel")),
    served("dinov2", "dinov2", "facebook/dinov2-base facebook/dinov2-large", of("dinov2", "Dinov2Model")),
    served("dinov2", "dinov2, registers", "facebook/dinov2-with-registers-base",
           of("dinov2_with_registers", "Dinov2WithRegistersModel")),
    served("dinov3", "dinov3", "facebook/dinov3-vitl16-pretrain-lvd1689m", of("dinov3_vit", "DINOv3ViTModel")),
    refused("has no tokenizer.json; config.json names code of its own", "clip", "nvidia/C-RADIOv3-B nvidia/C-RADIOv4-H",
            of(None, "RADIOModel", **own("hf_model.RADIOModel", "hf_model.RADIOConfig")), lacks=("tokenizer.json",)),
]  # fmt: skip
PYLATE = entries((f"{OLD}.Transformer", ""), ("pylate.models.Dense.Dense", "1_Dense"))
OF_TOKENS = [
    served("colbert", "stanford", "colbert-ir/colbertv2.0", of("bert", "HF_ColBERT")),
    served("colbert", "pylate modernbert", "lightonai/GTE-ModernColBERT-v1 lightonai/Reason-ModernColBERT",
           of("modernbert", "ModernBertModel"), PYLATE),
    served("colbert", "stanford", "answerdotai/answerai-colbert-small-v1", of("bert", "HF_ColBERT")),
    refused("config.json has position_embedding_type 'rotary'", "xlm_roberta", "jinaai/jina-colbert-v2",
            of("xlm-roberta", "HF_ColBERT", position_embedding_type="rotary", rotary_emb_base=20000.0,
               **own("jinaai/xlm-roberta-flash-implementation--modeling_xlm_roberta.XLMRobertaModel")),
            {NAMES: {"prompts": None}}, lacks=("modules.json", SETTINGS), why="rotary XLM-R of its own code"),
    served("colbert", "pylate lfm2", "LiquidAI/LFM2-ColBERT-350M", of("lfm2", "Lfm2Model"), PYLATE),
    served("colbert", "pylate lfm2", "LiquidAI/LFM2.5-ColBERT-350M",
           of("lfm2", "Lfm2BidirectionalModel", **own("modeling_lfm2_bidirectional.Lfm2BidirectionalModel"),
              disable_flash_attention=True),
           PYLATE),
    refused("", "colqwen2.5", "vidore/colpali-v1.3", PALIGEMMA, adapts={}, why="PaliGemma is not built"),
    served("colqwen2_5", "colqwen2.5", "vidore/colqwen2.5-v0.2 nomic-ai/colnomic-embed-multimodal-7b",
           of("qwen2_5_vl", "ColQwen2_5"), adapts={}),
    served("colqwen3", "tomoro", "TomoroAI/tomoro-colqwen3-embed-4b TomoroAI/tomoro-colqwen3-embed-8b",
           of("colqwen3", "ColQwen3", **own("modeling_colqwen3.ColQwen3"))),
    refused("", "colqwen2.5", "vidore/colSmol-256M vidore/colSmol-500M", of("idefics3", "ColIdefics3"), adapts={},
            why="Idefics3 is not built"),
    served("colmodernvbert", "colmodernvbert", "ModernVBERT/colmodernvbert",
           of("colmodernvbert", "ColModernVBertForRetrieval")),
]  # fmt: skip
SPARSE = [
    served("splade", "splade", "naver/splade-v3 prithivida/Splade_PP_en_v1", of("bert", "BertForMaskedLM")),
    served("splade", "opensearch",
           "opensearch-project/opensearch-neural-sparse-encoding-doc-v2-distill "
           "opensearch-project/opensearch-neural-sparse-encoding-doc-v3-distill",
           of("distilbert", "DistilBertForMaskedLM")),
    served("splade", "opensearch", "opensearch-project/opensearch-neural-sparse-encoding-doc-v3-gte",
           of("new", "NewForMaskedLM", **NEW_KEYS, rope_scaling={"type": "ntk", "factor": 8.0})),
]  # fmt: skip
