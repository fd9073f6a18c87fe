"""Activations, lengths and settings of rerankers, where files disagree or say more than one of them alone."""

from tests.models.folders.edits import put, remove, rename, write
from tests.models.folders.reranker_bases import SIGMOID, TRANSFORMER
from tests.models.folders.reranker_case import CONFIG, NAMES, SETTINGS, TOKENIZER, WITH_ANSWER, Case, modules

TANH = "torch.nn.modules.activation.Tanh"
OLD_KEY = "sbert_ce_default_activation_function"

ACTIVATIONS = [
    Case("Identity in the saved file, nothing in config.json", "xlm_roberta, saved"),
    Case("Sigmoid in the saved file, Identity in config.json", "bert, saved", [put(NAMES, activation_fn=SIGMOID)]),
    Case("Sigmoid in the saved file, the oldest key", "bert_older, saved", [put(NAMES, activation_fn=SIGMOID)]),
    Case("none in the saved file, Identity in config.json", "bert, saved", [put(NAMES, activation_fn=None)]),
    Case("none in the saved file, the oldest key", "bert_older, saved", [put(NAMES, activation_fn=None)]),
    Case(
        "Tanh in the saved file", "bert, saved", [put(NAMES, activation_fn=TANH)], rf"{NAMES} has activation_fn .*Tanh"
    ),
    Case(
        "Tanh in config.json behind Sigmoid",
        "bert, saved",
        [
            put(NAMES, activation_fn=SIGMOID),
            put(CONFIG, sentence_transformers={"activation_fn": TANH}),
        ],
    ),
    Case(
        "Tanh in config.json",
        "bert",
        [put(CONFIG, sentence_transformers={"activation_fn": TANH})],
        r"config\.json has sentence_transformers\.activation_fn .*Tanh",
    ),
    Case(
        "Tanh in the oldest key", "bert_older", [put(CONFIG, **{OLD_KEY: TANH})], rf"config\.json has {OLD_KEY} .*Tanh"
    ),
    Case("both keys of config.json", "bert_older", [put(CONFIG, sentence_transformers={"activation_fn": SIGMOID})]),
    Case(
        "a null before the oldest key",
        "bert_older",
        [
            write("null.txt", ""),
            put(CONFIG, sentence_transformers={"version": "4.1.0"}),
        ],
    ),
    Case(
        "a function of its own",
        "bert, saved",
        [put(NAMES, activation_fn="scores.Mine")],
        rf"{NAMES} has activation_fn 'scores.Mine'",
    ),
    Case(
        "the saved file without modules.json",
        "bert, saved",
        [
            remove("modules.json"),
            put(NAMES, activation_fn=TANH),
            put(SETTINGS, max_seq_length=9, do_lower_case=True),
        ],
    ),
    Case(
        "the saved file of an embedder",
        "bert, saved",
        [
            put(NAMES, model_type="SentenceTransformer", activation_fn=TANH),
            put(SETTINGS, max_seq_length=9),
        ],
    ),
    Case("an activation of a judge", "judge, saved", [put(NAMES, activation_fn=SIGMOID)]),
    Case("Tanh of a judge", "judge, saved", [put(NAMES, activation_fn=TANH)], rf"{NAMES} has activation_fn .*Tanh"),
]
LENGTHS = [
    Case("max_seq_length without modules.json", "xlm_roberta", [put(SETTINGS, max_seq_length=12)]),
    Case("max_seq_length below the tokenizer's", "xlm_roberta, saved", [put(SETTINGS, max_seq_length=12)]),
    Case(
        "max_seq_length above the tokenizer's",
        "xlm_roberta, saved",
        [
            put(SETTINGS, max_seq_length=40),
            put(TOKENIZER, model_max_length=11),
        ],
    ),
    Case(
        "model_max_length of processor_kwargs",
        "bert, saved",
        [
            put(SETTINGS, processor_kwargs={"model_max_length": 12}, max_seq_length=40),
        ],
    ),
    Case("model_max_length of tokenizer_args", "bert, saved", [put(SETTINGS, tokenizer_args={"model_max_length": 12})]),
    Case("max_len of older tokenizers", "bert", [put(TOKENIZER, model_max_length=None, max_len=12)]),
    Case(
        "a name of an older settings file",
        "bert, saved",
        [
            rename(SETTINGS, "sentence_distilbert_config.json"),
            put("sentence_distilbert_config.json", max_seq_length=12),
        ],
    ),
    Case(
        "an empty first settings file",
        "bert, saved",
        [
            rename(SETTINGS, "sentence_roberta_config.json"),
            put("sentence_roberta_config.json", max_seq_length=12),
            write(SETTINGS, {}),
        ],
    ),
    Case(
        "truncation_side of the tokenizer",
        "bert, saved",
        [put(TOKENIZER, truncation_side="left")],
        rf"{TOKENIZER} has truncation_side 'left'",
    ),
    Case(
        "truncation_side of processor_kwargs",
        "bert, saved",
        [put(SETTINGS, processor_kwargs={"truncation_side": "left"})],
        rf"{SETTINGS} has truncation_side 'left' in processor_kwargs",
    ),
    Case("a judge's prompt that is cut", "judge, saved", [put(SETTINGS, max_seq_length=50)]),
    Case("a judge's tokenizer that cuts", "judge, saved", [put(TOKENIZER, model_max_length=47)]),
    Case(
        "max_length of processing_kwargs",
        "judge, saved",
        [put(SETTINGS, processing_kwargs={"text": {"max_length": 20}} | WITH_ANSWER)],
        rf"{SETTINGS} has processing_kwargs with text",
    ),
]
SETTINGS_OF_CLASSIFIERS = [
    Case("do_lower_case", "eurobert, saved", [put(SETTINGS, do_lower_case=True)]),
    Case(
        "num_labels of config_args",
        "bert, saved",
        [put(SETTINGS, config_args={"num_labels": 3})],
        rf"{SETTINGS} has num_labels 3 in config_kwargs",
    ),
    Case(
        "a key of config_kwargs that config.json has",
        "bert, saved",
        [put(SETTINGS, config_kwargs={"hidden_act": "gelu"})],
    ),
    Case(
        "loading arguments",
        "bert, saved",
        [put(SETTINGS, model_args={"attn_implementation": "eager"}, unpad_inputs=False)],
    ),
    Case(
        "an adapter of model_kwargs",
        "bert, saved",
        [put(SETTINGS, model_kwargs={"subfolder": "a"})],
        r"subfolder 'a' in model_kwargs",
    ),
    Case(
        "another task",
        "bert, saved",
        [put(SETTINGS, transformer_task="fill-mask")],
        rf"{SETTINGS} has transformer_task 'fill-mask'",
    ),
    Case("no task", "bert, saved", [remove(SETTINGS)], rf"{SETTINGS} has transformer_task 'feature-extraction'"),
    Case(
        "another output",
        "bert, saved",
        [
            put(SETTINGS, modality_config={"text": {"method": "forward", "method_output_name": "hidden_states"}}),
        ],
        rf"{SETTINGS} has modality_config",
    ),
    Case(
        "a tokenizer elsewhere",
        "bert, saved",
        [put(SETTINGS, tokenizer_name_or_path="x")],
        r"has tokenizer_name_or_path 'x'",
    ),
    Case(
        "a default prompt of texts",
        "bert, saved",
        [put(NAMES, prompts={"q": "find: "}, default_prompt_name="q")],
        rf"{NAMES} has a default_prompt_name",
    ),
    Case(
        "a key of a release to come",
        "bert, saved",
        [put(NAMES, score_scale=5.0)],
        rf"{NAMES} has score_scale 5\.0, which is not known here",
    ),
    Case("a head in float32", "bert, saved", [put(NAMES, keep_in_fp32_modules=["0.model.classifier"])]),
    Case("prompts that nothing asks for", "bert, saved", [put(NAMES, prompts={"q": "find: "})]),
    Case(
        "three labels",
        "bert, saved",
        [put(CONFIG, id2label={"0": "a", "1": "b", "2": "c"})],
        r"config\.json has 3 labels \(id2label\)",
    ),
    Case(
        "a module in a folder of its own",
        "bert, saved",
        [modules((TRANSFORMER, "0_Transformer"))],
        r"modules\.json has its Transformer in a folder of its own",
    ),
    Case("classifier_pooling bos", "eurobert", [put(CONFIG, classifier_pooling="bos")]),
    Case("classifier_pooling mean", "eurobert", [put(CONFIG, classifier_pooling="mean")]),
    Case(
        "classifier_pooling of another kind",
        "eurobert",
        [put(CONFIG, classifier_pooling="max")],
        r"config\.json has classifier_pooling 'max'",
    ),
    Case("mean of ModernBERT, saved", "modernbert_mean, saved"),
]
