"""Which environment variables say something about a run (launchers, CUDA, NCCL, torch, engines), and what to keep."""

from __future__ import annotations

_PREFIXES = (
    *("CUDA_", "NCCL_", "GLOO_", "UCX_", "SLURM_N", "OLLAMA_"),
    *("TORCH_NCCL_", "TORCHINDUCTOR_", "NVSHMEM_"),
)
_NAMES = frozenset(
    [
        *("WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK"),
        *("NNODES", "NPROC_PER_NODE", "SLURM_JOB_NUM_NODES"),
        *("MASTER_ADDR", "MASTER_PORT", "VLLM_HOST_IP", "SGLANG_HOST_IP", "RAY_ADDRESS"),
        *("TORCH_CUDA_ARCH_LIST", "CMAKE_CUDA_ARCHITECTURES", "FLASHINFER_CUDA_ARCH_LIST", "TRITON_PTXAS_PATH"),
        *("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"),
        *("RAY_memory_monitor_refresh_ms", "RAY_memory_usage_threshold"),
        *("VLLM_ATTENTION_BACKEND", "VLLM_USE_V1", "ROCR_VISIBLE_DEVICES", "OMP_NUM_THREADS"),
        *("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_CACHE"),
    ]
)
#: Parts of names whose values are nobody's business.
_SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
#: Parts of names whose values name machines: MASTER_ADDR, VLLM_HOST_IP, SLURM_NODELIST, NCCL_COMM_ID, OLLAMA_ORIGINS.
_ADDRESS = (
    "ADDR",
    "HOST",
    "NODELIST",
    "NODE_ALIASES",
    "NODENAME",
    "COMM_ID",
    "SESSION_ID",
    "ORIGINS",
    "PROXY",
    "URL",
    "ENDPOINT",
)
#: What is kept of an address: that it is one, or that it leads back to this machine.
SET, LOOPBACK = "set", "loopback"
LIMIT_CHARACTERS = 200


def relevant(name: str) -> bool:
    """Whether the variable ``name`` is one that a judge may ask about."""
    wanted = name in _NAMES or name.startswith(_PREFIXES)
    return wanted and name.isidentifier() and name.isascii() and not any(part in name.upper() for part in _SECRET)


def kept(name: str, value: str) -> str:
    """What facts may hold of a variable: LIMIT_CHARACTERS; of one that names machines only SET, LOOPBACK or nothing.

    What was kept once stays as it is, so that a recording gives the same facts.
    """
    if any(part in name for part in _ADDRESS):
        if value in ("", SET, LOOPBACK):
            return value
        return LOOPBACK if _leads_back(value) else SET
    value = value[:LIMIT_CHARACTERS]
    # A byte that is no UTF-8 is a lone surrogate in os.environ.
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _leads_back(address: str) -> bool:
    """127.x.y.z, localhost or ::1, with or without a scheme, brackets, a port and a path."""
    host = address.strip().lower().rpartition("://")[2].partition("/")[0]
    if host.count(":") == 1 or "]" in host:
        host = host.rpartition("]")[0] if "]" in host else host.partition(":")[0]
    host = host.lstrip("[")
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdigit())
