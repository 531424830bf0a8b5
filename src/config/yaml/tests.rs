use super::super::testing::{cited, error, set, settings};
use super::super::{ConfigError, Document, Format, Value};

const CONFIG: &str = "# launch
defaults: &defaults
    lr: 1.0e-06   # peak
    betas: [0.9, 0.95]
worker:
    actor:
        <<: *defaults
        offload: {offload_params: true, offload_optimizer: no}
        model:
            # where it lies
            model_path: 'Org/Model-7B'
            note: |
                two
                lines

    rollout:
        n: 5
        stop:
        - </s>
        - \"<|end|>\"
trainer:
    logger: [console]
    save_freq:
    name: ~  # none yet
";

#[test]
fn reads_a_closing_bracket_that_begins_a_line_as_pyyaml_does() {
    let text = "_BASE_: [\n  'a.yml',\n  'é.yml',\n]\nlr: {\n  base: 0.1\n}\nbatch: 20\n";
    assert_eq!(settings(text), ["_BASE_[0]=a.yml", "_BASE_[1]=é.yml", "lr.base=0.1", "batch=20"]);
    assert_eq!(cited(text, "batch"), "8:8 20");
}

#[test]
fn reads_every_style() {
    assert_eq!(
        settings(CONFIG),
        [
            "defaults.lr=1e-6",
            "defaults.betas[0]=0.9",
            "defaults.betas[1]=0.95",
            "worker.actor.offload.offload_params=true",
            "worker.actor.offload.offload_optimizer=false",
            "worker.actor.model.model_path=Org/Model-7B",
            "worker.actor.model.note=two\nlines\n",
            "worker.actor.betas[0]=0.9",
            "worker.actor.betas[1]=0.95",
            "worker.actor.lr=1e-6",
            "worker.rollout.n=5",
            "worker.rollout.stop[0]=</s>",
            "worker.rollout.stop[1]=<|end|>",
            "trainer.logger[0]=console",
            "trainer.save_freq=null",
            "trainer.name=null",
        ]
    );
    assert_eq!(cited(CONFIG, "worker.actor.model.model_path"), "11:25 'Org/Model-7B'");
    assert_eq!(cited("é: ü\nñ: {ß: 'x'}\n", "ñ.ß"), "2:10 'x'");
    assert_eq!(cited("\u{feff}a:\n  b: 1\n", "a.b"), "2:6 1");
    assert_eq!(settings("a: !!str 12\nb: &x 5\nc: *x\n? d\n: 6\n"), ["a=12", "b=5", "c=5", "d=6"]);
    assert_eq!(settings("# nothing\n"), [""; 0]);
}

#[test]
fn says_where_it_is_wrong() {
    assert_eq!(error("a: 1\nb:\n\tc: 2\n"), "file:3:2: tabs disallowed within this context (block indentation)");
    assert_eq!(error("a: [1, 2\nb: 3\n"), "file:2:2: illegal placement of ':' indicator");
    assert_eq!(error("a: *b\n"), "file:1:4: while parsing node, found unknown anchor");
    let deep = "a:\n".to_owned() + &(1..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect::<String>();
    assert_eq!(error(&deep), "file:129:129: nested too deeply");
}

/// `CONFIG` with one piece replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(CONFIG.matches(old).count(), 1, "{old}");
    CONFIG.replace(old, new)
}

#[test]
fn replaces_a_value_in_its_style() {
    assert_eq!(set(CONFIG, "defaults.lr", 2e-6), with("1.0e-06", "2.0e-06"));
    assert_eq!(set(CONFIG, "worker.actor.offload.offload_optimizer", true), with("_optimizer: no", "_optimizer: yes"));
    assert_eq!(set(CONFIG, "worker.actor.offload.offload_params", false), with("true", "false"));
    assert_eq!(set(CONFIG, "worker.actor.model.model_path", "no"), with("'Org/Model-7B'", "'no'"));
    assert_eq!(
        set(CONFIG, "worker.actor.model.note", "one"),
        with("|\n                two\n                lines\n", "one\n")
    );
    assert_eq!(set(CONFIG, "worker.rollout.stop[0]", "*"), with("</s>", "'*'"));
    assert_eq!(set(CONFIG, "trainer.save_freq", 5.0), with("save_freq:", "save_freq: 5"));
    assert_eq!(set(CONFIG, "trainer.name", "a: b"), with("~", "'a: b'"));
    assert_eq!(set("a: # none\nb: 1\n", "a", 2.0), "a: 2 # none\nb: 1\n");
    assert_eq!(set("- 1\n-\n", "[1]", 2.0), "- 1\n- 2\n");
    assert_eq!(set("a: {b: , c}\n", "a.b", 2.0), "a: {b: 2 , c}\n");
    assert_eq!(set("a: {b: , c}\n", "a.c", 2.0), "a: {b: , c: 2}\n");
}

/// Setting an alias gives it its own value; setting the anchored value changes both.
#[test]
fn an_alias_is_what_it_stands_for() {
    let text = "a: &lr 1e-5 # both\nb: *lr\nc: &m {x: 1}\nd: *m\n";
    assert_eq!(settings(text), ["a=1e-5", "b=1e-5", "c.x=1", "d.x=1"]);
    assert_eq!(cited(text, "b"), "2:4 *lr");
    assert_eq!(set(text, "b", 2e-5), text.replace("*lr", "2.0e-5"));
    assert_eq!(set(text, "a", 2e-5), text.replace("1e-5", "2e-5"));
    assert_eq!(set(text, "d.x", 2.0), "error: `d` is an alias; edit what it refers to");
    // Setting a key that comes from a merge adds it to the mapping itself.
    assert_eq!(set(CONFIG, "worker.actor.lr", 2e-6), with("lines\n\n", "lines\n        lr: 2.0e-6\n\n"));
}

#[test]
fn a_new_key_goes_behind_its_siblings() {
    assert_eq!(set(CONFIG, "worker.rollout.top_p", 0.9), with("<|end|>\"\n", "<|end|>\"\n        top_p: 0.9\n"));
    assert_eq!(
        set(CONFIG, "worker.ref.fsdp.offload", true),
        with("<|end|>\"\n", "<|end|>\"\n    ref:\n        fsdp:\n            offload: true\n")
    );
    assert_eq!(set(CONFIG, "worker.rollout.stop[2]", "no"), with("<|end|>\"\n", "<|end|>\"\n        - 'no'\n"));
    assert_eq!(set(CONFIG, "trainer.logger[1]", "a b"), with("[console]", "[console, a b]"));
    assert_eq!(
        set(CONFIG, "worker.actor.offload.x.y", "a,b"),
        with("_optimizer: no}", "_optimizer: no, x: {y: 'a,b'}}")
    );
    assert_eq!(
        set(CONFIG, "trainer.name.first", "x"),
        with("name: ~  # none yet\n", "name:  # none yet\n        first: x\n")
    );
    assert_eq!(set(CONFIG, "new", true), CONFIG.to_owned() + "new: true\n");
    assert_eq!(set("a:\r\n  b: 1", "a.c", 2.0), "a:\r\n  b: 1\r\n  c: 2");
    assert_eq!(set("a: |+\n  x\n\nb: 1\n", "c", 2.0), "a: |+\n  x\n\nb: 1\nc: 2\n");
    assert_eq!(set("m:\n  a: |+\n    x\n\nb: 1\n", "m.c", 2.0), "m:\n  a: |+\n    x\n\n  c: 2\nb: 1\n");
    assert_eq!(set("---\n# nothing\n", "a.b", 1.0), "---\n# nothing\na:\n  b: 1\n");
    assert_eq!(set("---\n", "a", 1.0), "---\na: 1\n");
    assert_eq!(set("a: {}\n", "a.b", 1.0), "a: {b: 1}\n");
    assert_eq!(set("a: []\n", "a[0].b", 1.0), "a: [{b: 1}]\n");
    assert_eq!(set("- a: 1\n  b: 2\n- c: 3\n", "[0].d", 1.0), "- a: 1\n  b: 2\n  d: 1\n- c: 3\n");
    assert_eq!(set("a: 1\n", "x[0].b", 1.0), "a: 1\nx:\n  - b: 1\n");
    assert_eq!(set("{'a': 1}\n", "b", 2.0), "{'a': 1, 'b': 2}\n");
}

#[test]
fn of_a_key_that_stands_twice_the_last_counts() {
    assert_eq!(settings("a: 1\na: 2\n"), ["a=2"]);
}

#[test]
fn a_stream_has_many_documents() {
    let text = "kind: Service\n---\nkind: Pod\nspec:\n  containers:\n  - name: trainer\n    resources:\n      limits: {memory: 64Gi}\n---\n";
    assert_eq!(
        settings(text),
        [
            "documents[0].kind=Service",
            "documents[1].kind=Pod",
            "documents[1].spec.containers[0].name=trainer",
            "documents[1].spec.containers[0].resources.limits.memory=64Gi",
        ]
    );
    let memory = "documents[1].spec.containers[0].resources.limits.memory";
    assert_eq!(set(text, memory, "128Gi"), text.replace("64Gi", "128Gi"));
    assert_eq!(
        set(text, "documents[1].spec.containers[0].env[0].name", "X"),
        text.replace("64Gi}\n", "64Gi}\n    env:\n      - name: X\n")
    );
    assert_eq!(set(text, "documents[0].a", 1.0), text.replace("Service\n", "Service\na: 1\n"));
    assert_eq!(set(text, "kind", "x"), "error: `kind`: there are 2 documents; say which, as in `documents[0].kind`");
}

/// Aliases of aliases: a few lines that expand to a billion settings.
#[test]
fn laughs_at_a_billion_laughs() {
    let mut text = "a0: &a0 [x, x]\nm0: &m0 {}\n".to_owned();
    for n in 1..60 {
        text += &format!("a{n}: &a{n} [*a{p}, *a{p}, *a{p}]\nm{n}: &m{n}\n  <<: [*m{p}, *m{p}]\n", p = n - 1);
    }
    assert_eq!(error(&text), "file:1:1: nested too deeply, or too much");
}

/// An empty key was once placed before the bracket that contains it, so that removing it sliced backwards.
#[test]
fn an_empty_key_in_brackets_breaks_nothing() -> Result<(), ConfigError> {
    for text in ["{? }", "{? , a: 1}", "[{? }, {? }]", "a: {? : 1}"] {
        let document = Document::read_as(Format::Yaml, "x", text)?;
        for entry in document.entries() {
            let _ = document.set(&entry.key, &Value::Bool(true));
        }
    }
    Ok(())
}
