"""torch_native.py - PyTorch's own layer_norm and softmax kernels, in three dtypes and several shapes."""

import torch

from torch_sums import bits_sum


def main():
    torch.manual_seed(3)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for rows, cols in ((64, 1024), (33, 768), (128, 4096), (5, 8192)):
            x = torch.randn(rows, cols, device="cuda").to(dtype)
            w = (1 + 0.1 * torch.randn(cols, device="cuda")).to(dtype)
            b = (0.1 * torch.randn(cols, device="cuda")).to(dtype)
            y = torch.nn.functional.layer_norm(x, (cols,), w, b, 1e-5)
            print("layer_norm", dtype, rows, cols, bits_sum(y))
        for rows, cols in ((64, 128), (33, 1000), (16, 1024), (64, 2048), (16, 4096), (3, 50000)):
            x = (3 * torch.randn(rows, cols, device="cuda")).to(dtype)
            print("softmax", dtype, rows, cols, bits_sum(torch.softmax(x, dim=-1)))


if __name__ == "__main__":
    main()
