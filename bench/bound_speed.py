"""Images per second of processor time for interval, CROWN and alpha-CROWN bounds of all logits.

    python bench/bound_speed.py --network models/madry.safetensors --eps 0.02 --images 2

Run it at the root of the repository, with the package installed. `cargo run --release -p standoff-nn --example bound_speed` measures all
margins, in Rust.
"""

import argparse
import time

import numpy as np

import standoff


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="models/madry.safetensors")
    parser.add_argument("--eps", type=float, default=0.02)
    parser.add_argument("--images", type=int, default=2)
    args = parser.parse_args()
    network = standoff.Network.load(args.network)
    x, _ = standoff.read_images("data/mnist/t10k-images-idx3-ubyte.gz", "data/mnist/t10k-labels-idx1-ubyte.gz")
    x = x[: args.images].astype(np.float64) / 255
    for method, steps in [("interval", 0), ("crown", 0), ("alpha", 20)]:
        begin, widths = time.process_time(), []
        for image in x:
            low, high = network.bounds(np.maximum(image - args.eps, 0), np.minimum(image + args.eps, 1), method, steps)
            widths.append(high - low)
        seconds = (time.process_time() - begin) / len(x)
        print(f"{method}: {1 / seconds:.2f} images/s ({seconds:.2f} s each), mean width of a logit {np.mean(widths):.3f}", flush=True)


if __name__ == "__main__":
    main()
