"""The worst group in the `Trainer` of Hugging Face: `compute_loss` is replaced. `python hf_trainer.py`."""

import tempfile

import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments

from standoff.torch import GroupMinMax


class WorstGroupTrainer(Trainer):
    """The column `group` goes to the objective and not to the model."""

    def __init__(self, *arguments, objective, **named):
        super().__init__(*arguments, **named)
        self.objective = objective.to(self.args.device)

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        group, labels = inputs.pop("group"), inputs.pop("labels")
        outputs = model(**inputs)
        loss = self.objective(torch.nn.functional.cross_entropy(outputs.logits, labels, reduction="none"), group)
        return (loss, outputs) if return_outputs else loss


def sentences(n=300):
    """Eight tokens of a vocabulary of 20. The label is whether token 1 is there; in the small group, whether token 2 is there."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(3, 20, (n, 8), generator=generator)
    flags = torch.rand(n, 2, generator=generator) < 0.5
    for k in range(2):
        tokens[:, k] = torch.where(flags[:, k], k + 1, tokens[:, k])
    group = (torch.arange(n) % 10 == 0).long()
    tokens[:, 7] = group  # the model may see the group
    labels = torch.where(group == 1, flags[:, 1], flags[:, 0]).long()
    return [{"input_ids": t, "labels": y, "group": g} for t, y, g in zip(tokens, labels, group, strict=True)]


def main(epochs=8):
    torch.manual_seed(0)
    config = DistilBertConfig(vocab_size=20, dim=32, hidden_dim=64, n_layers=1, n_heads=2, max_position_embeddings=8, num_labels=2)
    model, rows = DistilBertForSequenceClassification(config), sentences()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, num_train_epochs=epochs, per_device_train_batch_size=50, learning_rate=3e-3, remove_unused_columns=False, use_cpu=True,
            report_to=[], save_strategy="no", logging_steps=24, disable_tqdm=True, seed=1,
        )  # fmt: skip
        trainer = WorstGroupTrainer(model, arguments, train_dataset=rows, objective=GroupMinMax(groups=2, lam=0.1))
        trainer.train()
    model.eval()
    with torch.no_grad():
        outputs = model(torch.stack([row["input_ids"] for row in rows])).logits
    right = outputs.argmax(1) == torch.stack([row["labels"] for row in rows])
    group = torch.stack([row["group"] for row in rows])
    found = [float(right[group == k].float().mean()) for k in range(2)]
    print("accuracy of the groups: " + " ".join(f"{v:.3f}" for v in found))
    return found


if __name__ == "__main__":
    main()
