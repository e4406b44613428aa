"""A ResNet-8 for images of 28 x 28 pixels, and three classes of Fashion-MNIST: T-shirt, coat and shirt."""

from pathlib import Path

import torch

import standoff

CLASSES = (0, 4, 6)
DATA = Path(__file__).resolve().parents[3] / "data/fashion-tops"


class Block(torch.nn.Module):
    """Two convolutions with batch normalisation, added to their input."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(outputs)
        self.conv2 = torch.nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(outputs)
        self.short = torch.nn.Conv2d(inputs, outputs, 1, stride, bias=False) if inputs != outputs else torch.nn.Identity()

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + self.short(x))


def resnet8(outputs=len(CLASSES), width=16):
    """The first convolution, three blocks and the last layer."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, width, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(width),
        torch.nn.ReLU(),
        Block(width, width, 1),
        Block(width, 2 * width, 2),
        Block(2 * width, 4 * width, 2),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * width, outputs),
    )


def images(part):
    """Images from 0 to 1 and labels 0, 1, 2 of `train` or `t10k`."""
    x, y = standoff.read_images(DATA / f"{part}-images-idx3-ubyte.gz", DATA / f"{part}-labels-idx1-ubyte.gz")
    keep = torch.isin(torch.tensor(y), torch.tensor(CLASSES, dtype=torch.uint8)).numpy()
    labels = torch.searchsorted(torch.tensor(CLASSES), torch.tensor(y[keep]).long())
    return torch.tensor(x[keep]).float().div(255).unsqueeze(1), labels


def accuracies(model, x, y):
    """The share of correct predictions in each class."""
    model.eval()
    with torch.no_grad():
        right = torch.cat([model(part).argmax(1) for part in x.split(500)]) == y
    model.train()
    return [float(right[y == k].float().mean()) for k in range(len(CLASSES))]
