"""The worst group in Lightning: the objective is a part of the module. `python lightning_module.py`."""

import lightning
import torch

from standoff.torch import GroupMinMax, certificate


class WorstGroup(lightning.LightningModule):
    """A linear classifier of three groups; only the two lines with `objective` differ from an ordinary module."""

    def __init__(self):
        super().__init__()
        self.model = torch.nn.Linear(2, 2)
        self.objective = GroupMinMax(groups=3, lam=0.1)

    def training_step(self, batch, _):
        x, y, group = batch
        return self.objective(torch.nn.functional.cross_entropy(self.model(x), y, reduction="none"), group)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


def data(n=600):
    """Two features, two classes, three groups. The rule of the small group differs from that of the others."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 2, generator=generator)
    group = torch.arange(n) % 20
    group = torch.where(group == 0, 2, group % 2)
    y = torch.where(group == 2, x[:, 1] > 0, x[:, 0] > 0).long()
    return torch.utils.data.TensorDataset(x, y, group)


def group_losses(model, dataset):
    """The mean loss of each group on all data."""
    x, y, group = dataset.tensors
    with torch.no_grad():
        losses = torch.nn.functional.cross_entropy(model(x), y, reduction="none")
    return [float(losses[group == k].mean()) for k in range(3)]


def main():
    torch.manual_seed(0)
    module, dataset = WorstGroup(), data()
    loader = torch.utils.data.DataLoader(dataset, batch_size=100, shuffle=True)
    print("losses before: " + " ".join(f"{v:.3f}" for v in group_losses(module.model, dataset)))
    trainer = lightning.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(module, loader)
    found = group_losses(module.model, dataset)
    print("losses after:  " + " ".join(f"{v:.3f}" for v in found))
    print("weights:       " + " ".join(f"{v:.3f}" for v in module.objective.weights))
    bounds = certificate(module.model, loader, lambda z, y: torch.nn.functional.cross_entropy(z, y, reduction="none"), 3, lam=0.1)
    print(f"certificate:   {bounds}")
    return found


if __name__ == "__main__":
    main()
