"""Runs ministack, after filling a gap that berth's stack meets.

It is a file of its own and not of the plugin, for it runs on other releases of
Python and beside other packages.
"""

import inspect
import runpy

from ministack.services.cloudformation import provisioners


def accept_metric_math() -> None:
    """Lets CloudFormation make an alarm of an expression: it watches the first metric of it alone."""
    original = getattr(provisioners, "_cw_metric_alarm_record", None)
    if original is None or list(inspect.signature(original).parameters) != ["name", "props"]:
        raise SystemExit("this is not the ministack that ministack.txt pins: _cw_metric_alarm_record differs")

    def record(name, props):
        metrics = [each["MetricStat"] for each in props.get("Metrics") or [] if "MetricStat" in each]
        if metrics:
            first = metrics[0]
            plain = {key: value for key, value in props.items() if key != "Metrics"}
            plain |= first["Metric"] | {"Period": first["Period"], "Statistic": first["Stat"]}
            return original(name, plain)
        return original(name, props)

    provisioners._cw_metric_alarm_record = record


# It imports itself again, in the processes that it starts.
if __name__ == "__main__":
    accept_metric_math()
    runpy.run_module("ministack", run_name="__main__", alter_sys=True)
