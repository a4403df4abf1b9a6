"""GPU samples out of texts. Expected values are read off the texts by eye: forms of nvidia-smi, published rows."""

from __future__ import annotations

import pytest

from gonogo.logs.readings import rows
from gonogo.logs.scanning import Line
from gonogo.telemetry.series import Sample, Series


def series(text: str) -> Series:
    lines = [Line("log", number, line, frozenset()) for number, line in enumerate(text.strip("\n").split("\n"), 1)]
    return rows.series(lines)


def sample(text: str) -> Sample:
    (only,) = series(text)
    return only


# -- CSV --------------------------------------------------------------------------------------------------------------


def test_csv_with_its_header() -> None:
    # The columns and the second row are of a published capture (model-serving-minefield, trap 124).
    read = sample("""
utilization.gpu [%], pstate, clocks.sm [MHz], clocks.max.gr [MHz], power.draw [W]
96 %, P0, 2281 MHz, 3003 MHz, 92.50 W
""")
    assert read == Sample(utilization_gpu_percent=96, clock_sm_mhz=2281, power_watts=92.5, place=1)


def test_csv_without_a_header_takes_the_columns_of_the_command() -> None:
    read = sample("""
$ nvidia-smi --query-gpu=clocks.sm,utilization.gpu --format=csv,noheader
702 MHz, 96 %
""")
    assert (read.clock_sm_mhz, read.utilization_gpu_percent) == (702, 96)


def test_bare_numbers_below_a_command() -> None:
    read = sample("""
nvidia-smi --query-gpu=temperature.gpu,power.draw,clocks.sm --format=csv,noheader,nounits
55, 10.21, 721
""")
    assert (read.temperature_celsius, read.power_watts, read.clock_sm_mhz) == (55, 10.21, 721)


def test_time_stamps_count_from_the_first() -> None:
    read = series("""
timestamp, clocks.sm [MHz], utilization.gpu [%]
2026/08/30 23:59:59.500, 2223 MHz, 0 %
2026/08/31 00:00:01.000, 695 MHz, 96 %
""")
    assert [item.seconds for item in read] == [0.0, 1.5]  # over midnight


@pytest.mark.parametrize(("option", "seconds"), [("-l 5", 5.0), ("--loop=2", 2.0), ("-lms 500", 0.5)])
def test_the_interval_of_the_command_gives_times(option: str, seconds: float) -> None:
    read = series(f"""
$ nvidia-smi --query-gpu=temperature.gpu,power.draw --format=csv {option}
temperature.gpu, power.draw [W]
61, 88.10 W
62, 88.40 W
""")
    assert [item.seconds for item in read] == [0.0, seconds]


def test_the_mask_of_reasons() -> None:
    # nvml.h: 0x20 is SwThermalSlowdown, 0x4 SwPowerCap.
    read = series("""
clocks.sm [MHz], utilization.gpu [%], clocks_event_reasons.active
2190 MHz, 96 %, 0x0000000000000024
2411 MHz, 96 %, 0x0000000000000000
""")
    assert [item.event_reasons_active for item in read] == [("sw_power_cap", "sw_thermal_slowdown"), ()]


def test_a_column_for_each_reason() -> None:
    read = sample("""
clocks.sm [MHz], clocks_event_reasons.sw_thermal_slowdown, clocks_event_reasons.hw_slowdown
2190 MHz, Active, Not Active
""")
    assert read.event_reasons_active == ("sw_thermal_slowdown",)


def test_what_is_not_supported_is_not_known() -> None:
    read = sample("""
clocks.sm [MHz], utilization.gpu [%], power.draw [W], temperature.gpu
721 MHz, 96 %, [N/A], [N/A]
""")
    assert read.power_watts is None
    assert read.temperature_celsius is None


def test_a_margin_is_no_temperature() -> None:
    # temperature.gpu.tlimit is degrees left, not degrees (81 C and 13 C left: ollama/ollama#13552).
    read = sample("""
temperature.gpu, temperature.gpu.tlimit, power.draw [W]
81, 13, 61.20 W
""")
    assert read.temperature_celsius == 81


# -- other forms ------------------------------------------------------------------------------------------------------


def test_rows_that_name_their_units() -> None:
    read = series("""
2026/08/30 13:52:30.944, 858 MHz, 96 %
19 %, 513 MHz, 513 MHz, 4.39 W, 39, P0
""")
    assert [(item.clock_sm_mhz, item.utilization_gpu_percent, item.power_watts) for item in read] == [
        (858, 96, None),
        (513, 19, 4.39),
    ]


def test_the_table() -> None:
    read = sample("| N/A   41C    P0             11W /  N/A  | Not Supported          |      0%      Default |")
    assert (read.temperature_celsius, read.power_watts, read.utilization_gpu_percent) == (41, 11, 0)
    assert read.clock_sm_mhz is None


def test_dmon() -> None:
    # The form of nvidia-smi dmon -s pucv; tviol is a flag.
    read = series("""
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk  pviol  tviol
# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz      %   bool
    0     88     89      -     96      0      0      0      0      0      -   2197      0      1
    0     12     52      -     96      0      0      0      0      0      -    611      0      0
""")
    assert read[0] == Sample(None, 96, 2197, 88, 89, ("sw_thermal_slowdown",), 2)
    assert (read[1].clock_sm_mhz, read[1].power_watts, read[1].event_reasons_active) == (611, 12, ())


QUERY = """
==============NVSMI LOG==============
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
        SW Thermal Slowdown               : {thermal}
    Clocks Event Reasons Counters
        SW Thermal Slowdown               : 903158 us
    Utilization
        GPU                               : 96 %
        Memory                            : 0 %
    Temperature
        GPU Current Temp                  : 81 C
        GPU T.Limit Temp                  : 13 C
    GPU Power Readings
        Average Power Draw                : 12.50 W
        Current Power Limit               : N/A
    Clocks
        Graphics                          : 611 MHz
        SM                                : 611 MHz
    Max Clocks
        SM                                : 3003 MHz
"""


@pytest.mark.parametrize(("thermal", "reasons"), [("Not Active", ()), ("Active", ("sw_thermal_slowdown",))])
def test_the_long_query(thermal: str, reasons: tuple[str, ...]) -> None:
    # Laid out as the output in ollama/ollama#13552; the counter beside the reason is history.
    read = sample(QUERY.format(thermal=thermal))
    assert (read.clock_sm_mhz, read.utilization_gpu_percent) == (611, 96)
    assert (read.power_watts, read.temperature_celsius) == (12.5, 81)
    assert read.event_reasons_active == reasons


def test_two_long_queries_are_two_samples() -> None:
    assert len(series(QUERY.format(thermal="Active") + QUERY.format(thermal="Not Active"))) == 2


def test_dcgm_metrics() -> None:
    read = sample("""
# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-x",modelName="NVIDIA GB10"} 799
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-x"} 47
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-x"} 19.500000
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-x"} 96
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-y"} 3
""")
    assert (read.clock_sm_mhz, read.temperature_celsius) == (799, 47)
    assert (read.power_watts, read.utilization_gpu_percent) == (19.5, 96)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("head: 96% util, 611 MHz, 12.4 W, 52 C", (611, 96, 12.4, 52)),
        ("clock 611 / 3003 MHz at 96 % and 12 W", (611, 96, 12, None)),
        ("clocks.sm 721 MHz, clocks.max.sm 3003 MHz, utilization.gpu 96 %, power.draw 10 W", (721, 96, 10, None)),
        ("sm_clock=611 gpu_util=96 power_w=12.4 temp_c=52", (611, 96, 12.4, 52)),
    ],
)
def test_free_text(text: str, expected: tuple[float | None, ...]) -> None:
    read = sample(text)
    found = (read.clock_sm_mhz, read.utilization_gpu_percent, read.power_watts, read.temperature_celsius)
    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "CPU max MHz: 2808.0000",
        "GPU-Util 96 %   Power 12 W",
        "memory clock 1593 MHz, 40 %",
        "Loading weights: 96%|#########6| 12/13 [00:09<00:00, 1.4it/s]",
        "3 GPUs, 5 errors, 96 % done",
        "",
    ],
)
def test_other_texts_hold_no_sample(text: str) -> None:
    assert series(text) == ()


def test_a_line_below_a_command_that_is_no_row() -> None:
    assert series("nvidia-smi --query-gpu=clocks.sm,utilization.gpu\n3 of 4 runs, 96 %% of requests") == ()


# -- the user's own ceiling -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lock",
    [
        "$ sudo nvidia-smi -lgc 300,900",
        "nvidia-smi --lock-gpu-clocks=300,900",
        'GPU clocks set to "(gpuClkMin 300, gpuClkMax 900)" for GPU 0000000F:01:00.0',
    ],
)
def test_a_clock_at_the_users_ceiling_is_left_out(lock: str) -> None:
    read = series(f"{lock}\n96 %, P0, 893 MHz, 20.10 W\n96 %, P0, 611 MHz, 12.10 W")
    assert [item.clock_sm_mhz for item in read] == [None, 611]


def test_the_ceiling_ends_with_its_reset() -> None:
    read = series("nvidia-smi -lgc 300,900\nsudo nvidia-smi -rgc\n96 %, P0, 893 MHz, 20.10 W")
    assert [item.clock_sm_mhz for item in read] == [893]


@pytest.mark.parametrize(
    "text", ["\x00" * 50, "," * 5000, "96 %, P0, " + "9" * 400 + " MHz", "DCGM_FI_DEV_SM_CLOCK{ 1"]
)
def test_hostile_lines(text: str) -> None:
    series(f"clocks.sm, utilization.gpu\n{text}\nDCGM_FI_DEV_SM_CLOCK 1.2.3\n# gpu pwr\n{text}")
