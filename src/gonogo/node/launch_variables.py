"""Which environment variables say something about a run: of launchers, CUDA, NCCL, torch and engines."""

from __future__ import annotations

_PREFIXES = ("CUDA_", "NCCL_", "GLOO_", "UCX_", "SLURM_N", "OLLAMA_", "TORCH_NCCL_", "TORCHINDUCTOR_", "NVSHMEM_")
_NAMES = frozenset(
    [
        *(
            "WORLD_SIZE",
            "LOCAL_WORLD_SIZE",
            "RANK",
            "LOCAL_RANK",
            "NODE_RANK",
            "GROUP_RANK",
            "NNODES",
            "NPROC_PER_NODE",
        ),
        *("MASTER_ADDR", "MASTER_PORT", "VLLM_HOST_IP", "SGLANG_HOST_IP", "RAY_ADDRESS"),
        *("TORCH_CUDA_ARCH_LIST", "CMAKE_CUDA_ARCHITECTURES", "FLASHINFER_CUDA_ARCH_LIST", "TRITON_PTXAS_PATH"),
        *("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"),
        *("RAY_memory_monitor_refresh_ms", "RAY_memory_usage_threshold"),
        *("VLLM_ATTENTION_BACKEND", "VLLM_USE_V1", "ROCR_VISIBLE_DEVICES", "OMP_NUM_THREADS", "SLURM_JOB_NUM_NODES"),
        *("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_CACHE"),
    ]
)


def relevant(name: str) -> bool:
    """Whether the variable ``name`` is one that a judge may ask about."""
    return name in _NAMES or name.startswith(_PREFIXES)
