"""Rerankers' folders: activations, lengths, settings, architectures and modules, where files disagree or say more."""

from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from tests.models.folders.bases import (
    BGE,
    CONFIG,
    CTXL,
    DENSE,
    IDENTITY,
    INSTRUCTED,
    LOGIT_SCORE,
    LOGITS,
    MODULES,
    MXBAI,
    NAMES,
    SCORE,
    SETTINGS,
    SIGMOID,
    STRUCTURED,
    TANH,
    TEMPLATE,
    TOKENIZER,
    TRANSFORMER,
    WITH_ANSWER,
    ZERANK,
    saved,
    template,
)
from tests.models.folders.edits import Edit, modules, put, remove, rename, tensors, write
from tests.models.folders.row import Row, by_key
from tests.models.reranker.checkpoints import QWEN3_RERANKER
from tests.models.text.checkpoints import SIZES

OLD_KEY = "sbert_ce_default_activation_function"
BERT, OLDER, XLM, JUDGE, EURO = (
    "bert, saved",
    "bert_older, saved",
    "xlm_roberta, saved",
    "judge, saved",
    "eurobert pairs",
)
ACTIVATIONS = [
    Row("Identity in the saved file, nothing in config.json", XLM),
    Row("Sigmoid in the saved file, Identity in config.json", BERT, [put(NAMES, activation_fn=SIGMOID)]),
    Row("Sigmoid in the saved file, the oldest key", OLDER, [put(NAMES, activation_fn=SIGMOID)]),
    Row("none in the saved file, Identity in config.json", BERT, [put(NAMES, activation_fn=None)]),
    Row("none in the saved file, the oldest key", OLDER, [put(NAMES, activation_fn=None)]),
    *by_key(BERT, NAMES, {"activation_fn": TANH}, {"activation_fn": "scores.Mine"}),
    *by_key(JUDGE, NAMES, activation_fn=TANH),
    *by_key("bert pairs", CONFIG, {"sentence_transformers": {"activation_fn": TANH}}),
    *by_key("bert_older pairs", CONFIG, {OLD_KEY: TANH}),
    Row("Tanh in config.json behind Sigmoid", BERT,
        [put(NAMES, activation_fn=SIGMOID), put(CONFIG, sentence_transformers={"activation_fn": TANH})]),
    Row("both keys of config.json", "bert_older pairs",
        [put(CONFIG, sentence_transformers={"activation_fn": SIGMOID})]),
    Row("nothing before the oldest key", "bert_older pairs", [put(CONFIG, sentence_transformers={"version": "4.1.0"})]),
    Row("the saved file without modules.json", BERT,
        [remove(MODULES), put(NAMES, activation_fn=TANH), put(SETTINGS, max_seq_length=9, do_lower_case=True)]),
    Row("the saved file of an embedder", BERT,
        [put(NAMES, model_type="SentenceTransformer", activation_fn=TANH), put(SETTINGS, max_seq_length=9)]),
    Row("an activation of a judge", JUDGE, [put(NAMES, activation_fn=SIGMOID)]),
]  # fmt: skip
LENGTHS = [
    Row("max_seq_length without modules.json", "xlm_roberta pairs", [put(SETTINGS, max_seq_length=12)]),
    Row("max_seq_length below the tokenizer's", XLM, [put(SETTINGS, max_seq_length=12)]),
    Row("max_seq_length above the tokenizer's", XLM,
        [put(SETTINGS, max_seq_length=40), put(TOKENIZER, model_max_length=11)]),
    Row("model_max_length of processor_kwargs", BERT,
        [put(SETTINGS, processor_kwargs={"model_max_length": 12}, max_seq_length=40)]),
    Row("model_max_length of tokenizer_args", BERT, [put(SETTINGS, tokenizer_args={"model_max_length": 12})]),
    Row("max_len of older tokenizers", "bert pairs", [put(TOKENIZER, model_max_length=None, max_len=12)]),
    Row("a name of an older settings file", BERT,
        [rename(SETTINGS, "sentence_distilbert_config.json"),
         put("sentence_distilbert_config.json", max_seq_length=12)]),
    Row("an empty first settings file", BERT,
        [rename(SETTINGS, "sentence_roberta_config.json"), put("sentence_roberta_config.json", max_seq_length=12),
         write(SETTINGS, {})]),
    Row("max_seq_length beyond DeBERTa's positions", "deberta_v2, saved",
        [put(CONFIG, max_position_embeddings=40), put(SETTINGS, max_seq_length=70)]),
    Row("a tokenizer's length beyond DeBERTa's positions", "deberta_v2 pairs",
        [put(CONFIG, max_position_embeddings=40)]),
    *by_key(BERT, TOKENIZER, truncation_side="left"),
    Row("truncation_side of processor_kwargs", BERT, [put(SETTINGS, processor_kwargs={"truncation_side": "left"})],
        rf"{SETTINGS} has truncation_side 'left' in processor_kwargs"),
    Row("a judge's prompt that is cut", JUDGE, [put(SETTINGS, max_seq_length=50)]),
    Row("a judge's tokenizer that cuts", JUDGE, [put(TOKENIZER, model_max_length=47)]),
    Row("max_length of processing_kwargs", JUDGE,
        [put(SETTINGS, processing_kwargs={"text": {"max_length": 20}} | WITH_ANSWER)],
        rf"{SETTINGS} has processing_kwargs with text"),
]  # fmt: skip
OF_CLASSIFIERS = [
    Row("do_lower_case", "eurobert, saved", [put(SETTINGS, do_lower_case=True)]),
    Row("three of config_args", BERT, [put(SETTINGS, config_args={"num_labels": 3})], "num_labels 3 in config_kwargs"),
    Row("a key of config_kwargs that config.json has", BERT, [put(SETTINGS, config_kwargs={"hidden_act": "gelu"})]),
    Row("loading arguments", BERT, [put(SETTINGS, model_args={"attn_implementation": "eager"}, unpad_inputs=False)]),
    Row("an adapter", BERT, [put(SETTINGS, model_kwargs={"subfolder": "a"})], r"subfolder 'a' in model_kwargs"),
    *by_key(BERT, SETTINGS, transformer_task="fill-mask", tokenizer_name_or_path="x"),
    Row("no task", BERT, [remove(SETTINGS)], rf"{SETTINGS} has transformer_task 'feature-extraction'"),
    Row("another output", BERT,
        [put(SETTINGS, modality_config={"text": {"method": "forward", "method_output_name": "hidden_states"}})],
        rf"{SETTINGS} has modality_config"),
    Row("a default prompt of texts", BERT, [put(NAMES, prompts={"q": "find: "}, default_prompt_name="q")],
        rf"{NAMES} has a default_prompt_name"),
    *by_key(BERT, NAMES, score_scale=5.0),
    Row("a head in float32", BERT, [put(NAMES, keep_in_fp32_modules=["0.model.classifier"])]),
    Row("prompts that nothing asks for", BERT, [put(NAMES, prompts={"q": "find: "})]),
    Row("three labels", BERT, [put(CONFIG, id2label={"0": "a", "1": "b", "2": "c"})], r"has 3 labels \(id2label\)"),
    Row("labels that are not said", "bert pairs", [put(CONFIG, id2label=None)], "2 labels"),
    Row("a module in a folder of its own", BERT, [modules((TRANSFORMER, "0_Transformer"))],
        r"modules\.json has its Transformer in a folder of its own"),
    Row("classifier_pooling bos", EURO, [put(CONFIG, classifier_pooling="bos")]),
    Row("classifier_pooling mean", EURO, [put(CONFIG, classifier_pooling="mean")]),
    *by_key(EURO, CONFIG, classifier_pooling="max"),
    Row("mean of ModernBERT, saved", "modernbert_mean, saved"),
]  # fmt: skip
BERT_PAIR = "[CLS]{{ messages[0].content }}[SEP]{{ messages[1].content }}[SEP]"
ONE_SEPARATOR = TemplateProcessing(
    single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
)
CLASS, OTHER_ENDS = "sequence-classification", r"tokenizer\.json puts other tokens around a pair than"


def joined_by_one(folder: Path) -> None:
    """A tokenizer.json that puts one separator between the texts of a pair."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = ONE_SEPARATOR
    tokenizer.save(str(folder / "tokenizer.json"))


def architectures(*names: str, **more: object) -> Edit:
    return put(CONFIG, architectures=[*names] or None, **more)


ARCHITECTURES = [
    Row("BERT's class of tokenizer", "bert pairs", [put(TOKENIZER, tokenizer_class="BertTokenizer")]),
    Row("XLM-R's class of tokenizer", "xlm_roberta pairs", [put(TOKENIZER, tokenizer_class="XLMRobertaTokenizer")]),
    *(
        Row(f"{name}'s class of tokenizer", f"{base} pairs", [put(TOKENIZER, tokenizer_class=name)])
        for base, name in (("camembert", "CamembertTokenizer"), ("deberta_v2", "DebertaV2Tokenizer"),
                           ("electra", "ElectraTokenizer"))
    ),
    Row("one separator by the file alone", "xlm_roberta pairs", [joined_by_one]),
    Row("one separator, and a class that puts two", "xlm_roberta pairs",
        [joined_by_one, put(TOKENIZER, tokenizer_class="XLMRobertaTokenizer")],
        rf"{OTHER_ENDS} XLMRobertaTokenizer of tokenizer_config\.json"),
    Row("a flag for an end token", "llama classifier", [put(TOKENIZER, add_eos_token=True)],
        rf"{OTHER_ENDS} its class of"),
    *by_key("bert pairs", TOKENIZER, padding_side="left"),
    Row("arguments of a file that is not read", BERT,
        [put(NAMES, model_type=None), put(SETTINGS, tokenizer_args={"do_lower_case": False})],
        rf"{SETTINGS} has arguments for the tokenizer"),
    Row("BERT with a chat template, whose texts are of one type", "bert pairs",
        [put(TOKENIZER, chat_template=BERT_PAIR)]),
    Row("BERT with a chat template, saved as texts", BERT, [put(TOKENIZER, chat_template=BERT_PAIR)]),
    Row("BERT with a chat template, saved as messages", BERT, [write(TEMPLATE, BERT_PAIR), saved(CLASS)]),
    Row("a classifier without its head", "llama classifier", [tensors(**{"score.weight": None})],
        r"0 tensors called score\.weight"),
    Row("a classifier of two rows", "llama classifier", [tensors(**{"score.weight": torch.ones(2, 32)})],
        r"score\.weight in the shape \[2, 32\]"),
    *(Row(f"a {name} classifier", f"{name} classifier") for name in ("llama", "mistral")),
    Row("a Qwen3 classifier without a template", "qwen3 classifier", [],
        r"tokenizer\.json puts no token between two texts"),
    Row("a Qwen3 classifier with Qwen3-Reranker's template", "qwen3 classifier", [write(TEMPLATE, QWEN3_RERANKER)]),
    Row("a classifier with zerank's template, saved", "qwen3 classifier",
        [write(TEMPLATE, ZERANK), saved(CLASS, processing_kwargs=WITH_ANSWER)]),
    Row("a classifier with a chat template and saved as texts", "qwen3 classifier",
        [write(TEMPLATE, ZERANK), saved(CLASS, is_message=False)], r"puts no token between two texts"),
    Row("a classifier whose template is a chat's", "qwen3 classifier",
        [write(TEMPLATE, "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}<|im_end|>")],
        rf"{TEMPLATE} leaves out the query"),
    Row("a template that ends with the padding token", "qwen3 classifier",
        [write(TEMPLATE, INSTRUCTED + "<|endoftext|>")]),
    Row("a Gemma classifier with a template", "gemma3_text classifier", [write(TEMPLATE, ZERANK + "<|im_start|>")]),
    Row("a Qwen2 classifier with a template", "qwen2 classifier", [write(TEMPLATE, ZERANK + "<|im_start|>")]),
    Row("a Gemma 1 classifier with a template", "gemma classifier", [write(TEMPLATE, ZERANK + "<|im_start|>")]),
    Row("a Gemma 2 classifier with a template", "gemma2 classifier", [write(TEMPLATE, ZERANK + "<|im_start|>")]),
    Row("a bidirectional classifier", "llama classifier", [put(CONFIG, is_causal=False)]),
    *by_key("llama classifier", CONFIG, pad_token_id=5, use_bidirectional_attention=True),
    Row("a classifier of its own code", "llama classifier",
        [put(CONFIG, auto_map={"AutoModelForSequenceClassification": "mine.LlamaForSequenceClassification"})],
        r"config\.json names code of its own for AutoModelForSequenceClassification"),
    Row("named as no reranker", "qwen3 classifier", [write(TEMPLATE, QWEN3_RERANKER)], folder="Qwen3-Embedding"),
    Row("a class of its own", "bert pairs", [architectures("MyBertForSequenceClassification")],
        r"config\.json has architectures \['MyBertForSequenceClassification'\]"),
    Row("jina-reranker-v3's architecture", "judge", [architectures("JinaForRanking", auto_map={"AutoModel": "m.J"})],
        r"config\.json has architectures \['JinaForRanking'\].*a reranker.*auto_map.*Supported rerankers",
        folder="jina-reranker-v3"),
    Row("jina-reranker-m0's architecture", "judge", [architectures("JinaVLForRanking", model_type="qwen2_vl")],
        r"config\.json has architectures \['JinaVLForRanking'\].*a reranker.*Supported rerankers"),
    Row("a classifier of an unknown type", "bert pairs",
        [architectures("LongformerForSequenceClassification", model_type="longformer")],
        r"LongformerForSequenceClassification'\].*model_type 'longformer': a reranker"),
    Row("a cross-encoder without a classifier", BERT, [architectures("BertModel")],
        r"modules\.json has Transformer; supported of a cross-encoder of modules"),
    Row("a tensor that no module knows", "bert pairs",
        [tensors(**{"bert.encoder.layer.0.mixer.Wqkv.weight": torch.ones(2, 2)})],
        r"1 tensors that its model does not know: bert\.encoder\.layer\.0\.mixer(?!.*unread_tensors)", at_load=True),
    Row("jina-reranker-v2's tensors, which the front knows not to be XLM-R's", "xlm_roberta pairs",
        [tensors(**{"roberta.encoder.layers.0.mixer.Wqkv.weight": torch.ones(2, 2)})],
        r"1 tensors that its model does not know: roberta\.encoder\.layers\.0\.mixer\.Wqkv\.weight; a reranker's"),
    Row("a classifier's head in an encoder", "bert pairs", [architectures("BertModel")],
        r"'BertModel'.*classifier\.bias"),
    Row("a head without architectures", "bert pairs", [architectures()], r"architectures None.*classifier\.bias"),
]  # fmt: skip


ETTIN, LAST = "ettin", "4_Dense/config.json"
POOLING, NORM = (
    f"sentence_transformers.sentence_transformer.modules.{name}" for name in ("pooling.Pooling", "layer_norm.LayerNorm")
)
OF_MODULES = [
    Row("ettin's modules", ETTIN),
    Row("ettin's modules and Identity", ETTIN, [put(NAMES, activation_fn=IDENTITY)]),
    Row("modules of an older release's names", ETTIN,
        [modules(*((f"sentence_transformers.models.{kind}", path) for kind, path in (
            ("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense"), ("LayerNorm", "3_LayerNorm"),
            ("Dense", "4_Dense"))))]),
    Row("a length of modules' texts", ETTIN, [put(SETTINGS, max_seq_length=24)]),
    Row("modules without a layer norm", ETTIN,
        [modules((TRANSFORMER, ""), (POOLING, "1_Pooling"), (DENSE, "2_Dense"), (DENSE, "4_Dense"))]),
    Row("modules that end in a layer norm", ETTIN,
        [modules((TRANSFORMER, ""), (POOLING, "1_Pooling"), (NORM, "3_LayerNorm"))],
        r"modules\.json has Transformer, Pooling, LayerNorm; supported of a cross-encoder of modules"),
    Row("a module that is not known", ETTIN,
        [modules((TRANSFORMER, ""), (POOLING, "1_Pooling"), ("mine.Scale", "s"), (DENSE, "4_Dense"))],
        r"modules\.json has the module 'mine\.Scale'"),
    Row("a pooling that is not known", ETTIN, [put("1_Pooling/config.json", pooling_mode="max")],
        r"1_Pooling/config\.json pools by 'max'"),
    *by_key(ETTIN, "3_LayerNorm/config.json", eps=1e-3),
    *by_key(ETTIN, LAST, module_output_name="sentence_embedding", module_input_name="scores"),
    *by_key(ETTIN, "2_Dense/config.json", module_output_name="scores"),
    *by_key(ETTIN, NAMES, {"activation_fn": TANH}),
    *by_key(ETTIN, SETTINGS, transformer_task="fill-mask"),
    Row("three scores of modules", ETTIN, [put(LAST, out_features=3)], r"4_Dense/config\.json makes 3 scores"),
    Row("scores of a vector that is none", ETTIN, [put(LAST, module_output_name=None)],
        r"4_Dense/config\.json has module_output_name None; supported: 'scores'"),
    Row("a layer norm of another width", ETTIN, [put("3_LayerNorm/config.json", dimension=16)],
        "3_LayerNorm takes 16 numbers, but gets 32", at_load=True),
]  # fmt: skip


def own_head(width: int = SIZES["hidden_size"], num_rows: int = 402) -> Edit:
    made = torch.randn(num_rows, width, generator=torch.Generator().manual_seed(5)) * 0.3
    return tensors(**{"lm_head.weight": made})


def said_by(template_text: str, says: str, name: str) -> Row:
    return Row(name, JUDGE, [write(TEMPLATE, template_text)], f"{TEMPLATE} {says}")


ONE, OTHER = "{{ messages[0].content }}", "{{ messages[1].content }}"
BARE = r"which several models share"
JUDGES = [
    Row("zerank's form", JUDGE),
    Row("zerank's form, called an embedder", JUDGE, folder="Qwen3-Embedding-0.6B"),
    Row("ids true and false", JUDGE, [put(SCORE, false_token_id=17)]),
    Row("ids without a module's input", JUDGE, [put(SCORE, module_input_name="causal_logits")]),
    *by_key(JUDGE, SCORE, module_input_name="token_embeddings", true_token_id=402, false_token_id=-1),
    Row("no id", JUDGE, [write(SCORE, {})], r"1_LogitScore/config\.json has true_token_id None"),
    Row("LogitScore at another path", JUDGE, [modules((TRANSFORMER, ""), (LOGIT_SCORE, "2_LogitScore"))],
        r"modules\.json names LogitScore, whose config\.json is not at its path"),
    Row("LogitScore and no saved file", JUDGE, [remove(NAMES)], rf"LogitScore, and {NAMES} has no model_type"),
    Row("LogitScore of another package", JUDGE, [modules((TRANSFORMER, ""), ("mine.LogitScore", "1_LogitScore"))],
        r"modules\.json has the module 'mine\.LogitScore'"),
    Row("a module between", JUDGE, [modules((TRANSFORMER, ""), (DENSE, "d"), (LOGIT_SCORE, "1_LogitScore"))],
        r"modules\.json has Transformer, Dense, LogitScore"),
    Row("no answer's turn", JUDGE, [put(SETTINGS, processing_kwargs={})]),
    Row("a variable of the template", JUDGE, [write(TEMPLATE, ZERANK + "{{ mark }}<|im_end|>"), template(mark="so: ")]),
    Row("an instruction of the files", JUDGE,
        [write(TEMPLATE, INSTRUCTED), put(NAMES, prompts={"task": "Find it."}, default_prompt_name="task")]),
    *by_key(JUDGE, NAMES, default_prompt_name="task"),
    Row("messages of parts", JUDGE,
        [write(TEMPLATE, STRUCTURED),
         put(SETTINGS, modality_config={"text": LOGITS, "message": LOGITS | {"format": "structured"}})]),
    Row("a format that is found out", JUDGE,
        [write(TEMPLATE, STRUCTURED), put(SETTINGS, modality_config={"text": LOGITS, "message": LOGITS})]),
    Row("a format of its own", JUDGE, [put(SETTINGS, modality_config={"message": LOGITS | {"format": "xml"}})],
        r"has the format 'xml'"),
    Row("a template that is chosen by name", JUDGE,
        [write("additional_chat_templates/other.jinja", INSTRUCTED), template(chat_template="other")]),
    Row("a template without that name", JUDGE, [template(chat_template="other")], r"has no chat template 'other'"),
    Row("templates of tokenizer_config.json", JUDGE,
        [remove(TEMPLATE),
         put(TOKENIZER,
             chat_template=[{"name": "default", "template": INSTRUCTED}, {"name": "tool", "template": "x"}])]),
    Row("the file before tokenizer_config.json", JUDGE, [put(TOKENIZER, chat_template=ONE)]),
    Row("messages without a template", JUDGE, [remove(TEMPLATE)], r"has no chat template 'default'"),
    Row("special tokens of the template", JUDGE, [write(TEMPLATE, "{{ eos_token }}" + INSTRUCTED + "{{ pad_token }}")]),
    Row("special tokens of an older file", JUDGE,
        [write(TEMPLATE, "{{ bos_token }}" + INSTRUCTED), put("special_tokens_map.json", bos_token="<|im_end|>")]),
    Row("a document before the query", JUDGE, [write(TEMPLATE, f"{OTHER}<|im_end|>{ONE}<|im_end|>")]),
    Row("a query that stands twice", JUDGE, [write(TEMPLATE, f"{ONE}<|im_end|>{OTHER} - is it {ONE}?\n")]),
    said_by("{{ bos_token }}" + INSTRUCTED, rf"writes bos_token, which {TOKENIZER} has not", "a token that none names"),
    said_by("{{ messages[0].content[:99] }}<|im_end|>" + OTHER, "changes the texts of a pair", "a text that is cut"),
    said_by("{{ messages[0].content | upper }}<|im_end|>" + OTHER, "(changes the texts|leaves out)", "upper case"),
    said_by(f"{ONE}<|im_end|>", "leaves out the document", "a template without the document"),
    said_by(ZERANK + "{{ strftime_now('%Y') }}", "asks for the day", "a template of the day"),
    said_by("{% if %}", "cannot be rendered", "a template that is damaged"),
    Row("a head of its own beside tie_word_embeddings", JUDGE, [own_head()]),
    Row("a head of fewer rows", JUDGE, [own_head(num_rows=300)], r"lm_head\.weight in the shape \[300, 32\]; 402 rows"),
    Row("a head of its own", JUDGE, [own_head(), put(CONFIG, tie_word_embeddings=False)]),
    Row("no head and no tie", JUDGE, [put(CONFIG, tie_word_embeddings=False)], r"0 tensors called lm_head\.weight"),
    Row("Qwen3-Reranker's template alone", "judge", [write(TEMPLATE, QWEN3_RERANKER)]),
    Row("the same with one line end less", "judge", [write(TEMPLATE, QWEN3_RERANKER[:-1])]),
    Row("the same, called an embedder", "judge", [write(TEMPLATE, QWEN3_RERANKER)], folder="Qwen3-Embedding-0.6B"),
    Row("Qwen3-Reranker as saved", "judge",
        [write(TEMPLATE, QWEN3_RERANKER), saved(), write(SCORE, {"true_token_id": 400, "false_token_id": 401})]),
    Row("a language model that is called a reranker", "judge",
        [write("README.md", "---\npipeline_tag: text-ranking\n---\n")], rf"model_type 'qwen3', {BARE}.*qwen3_reranker",
        folder="Qwen3-Reranker-0.6B"),
    Row("a language model with another template", "judge", [write(TEMPLATE, ZERANK)], BARE, folder="zerank-1"),
    Row("a language model with a classifier's head", "judge", [tensors(**{"score.weight": torch.ones(1, 32)})],
        rf"{BARE}|score\.weight"),
    *(
        Row(f"LogitScore on {name}", f"{name} generator",
            [write(TEMPLATE, ZERANK), saved(processing_kwargs=WITH_ANSWER),
             write(SCORE,
                   {"true_token_id": 300, "false_token_id": 17})])
        for name in ("llama", "mistral", "gemma", "gemma3_text", "qwen2")
    ),
    *(
        Row(f"{name}'s form{f', of {limit} tokens' if limit else ''}", base,
            [write(TEMPLATE, text), saved(processing_kwargs=WITH_ANSWER), write(SCORE, ids),
             put(SETTINGS, max_seq_length=limit)]) for limit in (None, 170, 200)
        for name, base, text, ids in (
            ("mxbai-rerank-v2", "qwen2 generator", MXBAI, {"true_token_id": 20, "false_token_id": 19}),
            ("bge-reranker-v2-gemma", "gemma generator", BGE, {"true_token_id": 300}),
            ("ctxl-rerank-v2", JUDGE, CTXL, {"true_token_id": 0}))
    ),
    Row("logits that are capped by default", "gemma2 generator",
        [write(TEMPLATE, ZERANK), saved(), write(SCORE, {"true_token_id": 300}),
         put(CONFIG, final_logit_softcapping=None)], r"config\.json has final_logit_softcapping 30\.0"),
    Row("capped logits", "gemma3_text generator",
        [write(TEMPLATE, ZERANK), saved(), write(SCORE, {"true_token_id": 300}),
         put(CONFIG, final_logit_softcapping=30.0)], r"config\.json has final_logit_softcapping 30\.0"),
]  # fmt: skip
RERANKERS = [*ACTIVATIONS, *LENGTHS, *OF_CLASSIFIERS, *OF_MODULES, *ARCHITECTURES, *JUDGES]
