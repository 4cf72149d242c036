"""Writes the packaged sample incident: two hours of two invented services, always the same bytes.

Run it to rebuild the committed files:  python tests/sample_incident/generate.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random

ZONE = timezone(timedelta(hours=1))
BEGIN = datetime(2026, 3, 12, 12, 45, tzinfo=ZONE)
END = datetime(2026, 3, 12, 14, 45, tzinfo=ZONE)
DEPLOYMENT = datetime(2026, 3, 12, 14, 27, 31, tzinfo=ZONE)
RESTARTS = {"checkout-a": 21, "checkout-b": 99, "checkout-c": 180}  # seconds after DEPLOYMENT
START_UP = 17.0  # seconds an instance takes to come up
SKUS = ("LAMP-204", "DESK-118", "CHAIR-77", "RUG-530", "SHELF-91", "MUG-12", "CLOCK-8", "VASE-310")
WAREHOUSES = ("HAM-1", "LEJ-2", "MUC-1")

LOGS = Path(__file__).resolve().parents[2] / "src" / "diagnosis" / "sample" / "logs"


@dataclass
class Sample:
    """The lines of both logs while they are being made, each with its time for sorting."""

    # Random.random() gives the same numbers on every Python version; its other methods need not.
    random: Random = field(default_factory=lambda: Random(20260312))
    checkout: list[tuple[datetime, str]] = field(default_factory=list)
    inventory: list[tuple[datetime, str]] = field(default_factory=list)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.random.random()

    def whole(self, low: int, high: int) -> int:
        return low + int((high - low + 1) * self.random.random())

    def one_of(self, values: tuple[str, ...]) -> str:
        return values[int(len(values) * self.random.random())]

    def times(self, mean_s: float) -> list[datetime]:
        """Times from BEGIN to END, irregular, `mean_s` seconds apart on average."""
        times, at = [], BEGIN
        while (at := at + timedelta(seconds=self.between(0.2, 1.8) * mean_s)) < END:
            times.append(at)
        return times

    def log_checkout(
        self, at: datetime, level: str, instance: str, logger: str, message: str, **more: str
    ) -> None:
        if BEGIN <= at < END:
            record = {
                "timestamp": at.isoformat(timespec="milliseconds"),
                "level": level,
                "service": "checkout",
                "instance": instance,
                "logger": logger,
                "message": message,
                **more,
            }
            self.checkout.append((at, json.dumps(record)))

    def log_inventory(self, at: datetime, level: str, where: str, message: str) -> None:
        if BEGIN <= at < END:
            stamp = at.isoformat(timespec="milliseconds")
            self.inventory.append((at, f"{stamp} {level:<5} {where} - {message}"))


def instance_of(sample: Sample, at: datetime) -> str:
    """An instance that is up: one that is being replaced takes no orders."""
    up = [
        name
        for name, after in RESTARTS.items()
        if not -1 <= (at - DEPLOYMENT).total_seconds() - after <= START_UP + 1
    ]
    return sample.one_of(tuple(up))


def orders(sample: Sample) -> None:
    """Every order reserves stock, is paid, saved and confirmed, until saving begins to fail."""
    number = 481_204
    for start in sample.times(13.0):
        number += sample.whole(1, 3)
        at, instance = start, instance_of(sample, start)
        trace = f"{int(sample.random.random() * 16**12):012x}"
        reservation, thread = f"R-{number}", f"[exec-{sample.whole(1, 8)}]"
        where = f"{thread} inventory.ReservationService"
        units = f"{sample.whole(1, 3)} x {sample.one_of(SKUS)}"
        sample.log_inventory(
            at, "INFO", where, f"Reserved {units} in {sample.one_of(WAREHOUSES)} as {reservation}"
        )
        at += timedelta(milliseconds=sample.whole(20, 90))
        sample.log_checkout(
            at,
            "INFO",
            instance,
            "ReservationClient",
            f"Stock reserved for order {number} as {reservation}",
            trace_id=trace,
        )
        expiry = at + timedelta(seconds=300 + sample.between(0, 4))
        expired = f"Reservation {reservation} expired without confirmation, stock released"
        if sample.random.random() < 0.04:
            sample.log_inventory(expiry, "WARN", "[expiry-1] inventory.ReservationExpiry", expired)
            continue  # the customer walked away
        at += timedelta(milliseconds=sample.whole(150, 600))
        if sample.random.random() < 0.03:
            declined = f"Card declined for order {number}: insufficient funds"
            sample.log_checkout(at, "WARN", instance, "PaymentService", declined, trace_id=trace)
            continue
        amount = f"{sample.between(9, 480):.2f} EUR"
        authorised = f"Payment of {amount} authorised for order {number}"
        sample.log_checkout(at, "INFO", instance, "PaymentService", authorised, trace_id=trace)
        at += timedelta(milliseconds=sample.whole(30, 160))
        if (at - DEPLOYMENT).total_seconds() > RESTARTS[instance] + START_UP:
            save_fails(sample, at, instance, number, trace)
            sample.log_inventory(expiry, "WARN", "[expiry-1] inventory.ReservationExpiry", expired)
            continue
        took = int((at - start).total_seconds() * 1000)
        placed = f"Order {number} placed in {took} ms"
        sample.log_checkout(at, "INFO", instance, "OrderService", placed, trace_id=trace)
        at += timedelta(milliseconds=sample.whole(15, 60))
        sample.log_inventory(at, "INFO", where, f"Confirmed {reservation}")


def save_fails(sample: Sample, at: datetime, instance: str, number: int, trace: str) -> None:
    """The decisive error, and what follows from it."""
    problem = 'column "delivery_window_id" of relation "orders" does not exist'
    sample.log_checkout(
        at,
        "ERROR",
        instance,
        "OrderRepository",
        f"Order {number} could not be saved: {problem}",
        trace_id=trace,
        exception=f"org.postgresql.util.PSQLException: ERROR: {problem}",
    )
    at += timedelta(milliseconds=sample.whole(40, 200))
    sample.log_checkout(
        at,
        "WARN",
        instance,
        "PaymentService",
        f"Payment authorisation of order {number} voided",
        trace_id=trace,
    )


def deployment(sample: Sample) -> None:
    """The decisive change: a rolling release whose migration step did not run."""
    release, agent = "checkout 2.42.0", "deploy-agent"

    def tell(after_s: float, level: str, instance: str, logger: str, message: str) -> None:
        at = DEPLOYMENT + timedelta(seconds=after_s, milliseconds=sample.whole(0, 900))
        sample.log_checkout(at, level, instance, logger, message)

    tell(0, "INFO", agent, "Deployment", f"Deployment of {release} started, replaces 2.41.3")
    tell(
        4, "INFO", agent, "Deployment", f"Migration step of {release} skipped: run_migrations=false"
    )
    for instance, after in RESTARTS.items():
        tell(after, "INFO", instance, "Application", f"Stopping checkout 2.41.3 on {instance}")
        took = START_UP - 2 + sample.between(0, 1)
        tell(
            after + 16,
            "INFO",
            instance,
            "Application",
            f"Started {release} on {instance} in {took:.1f} seconds",
        )
    tell(201, "INFO", agent, "Deployment", f"Deployment of {release} finished, 3 of 3 instances")


def red_herring(sample: Sample) -> None:
    """Loud, at ERROR, in the failing service, and as old as the log."""
    for at in sample.times(12.0):
        message = (
            f"Recommendations for basket B-{sample.whole(10_000, 99_999)} unavailable: "
            "read timed out after 800 ms"
        )
        sample.log_checkout(at, "ERROR", instance_of(sample, at), "RecommendationClient", message)


def checkout_noise(sample: Sample) -> None:
    """What a healthy service writes all day."""
    for instance in RESTARTS:
        for at in sample.times(42.0):
            health = f"GET /health 200 in {sample.whole(1, 4)} ms"
            sample.log_checkout(at, "INFO", instance, "AccessLog", health)
        for at in sample.times(180.0):
            active = sample.whole(2, 9)
            pool = f"Connection pool orders-db: {active} active, {20 - active} idle, 0 waiting"
            sample.log_checkout(at, "INFO", instance, "ConnectionPool", pool)
    for at in sample.times(600.0):
        instance = instance_of(sample, at)
        refreshed = "Price rules refreshed, 0 changes"
        sample.log_checkout(at, "INFO", instance, "PriceRules", refreshed)
    for at in sample.times(290.0):
        slow = f"Slow request POST /basket/price took {sample.whole(1_800, 3_900)} ms"
        sample.log_checkout(at, "WARN", instance_of(sample, at), "AccessLog", slow)
    for at in sample.times(1_100.0):
        webhook = "Carrier webhook refused: signature does not match"
        sample.log_checkout(at, "ERROR", instance_of(sample, at), "CarrierWebhook", webhook)


def inventory_noise(sample: Sample) -> None:
    """The second service: stock syncs, pauses, a disk that fills, and an old harmless release."""
    for at in sample.times(40.0):
        level = f"Stock level of {sample.one_of(SKUS)} is now {sample.whole(3, 400)}"
        sample.log_inventory(at, "INFO", "[sync-1] inventory.StockLevels", level)
    for at in sample.times(55.0):
        pause = f"Pause Young (Normal) {sample.between(4, 31):.1f} ms"
        sample.log_inventory(at, "INFO", "[gc] inventory.GarbageCollector", pause)
    for at in sample.times(60.0):
        sync = (
            f"Stock sync with {sample.one_of(WAREHOUSES)}: {sample.whole(90, 420)} items "
            f"in {sample.whole(200, 950)} ms"
        )
        sample.log_inventory(at, "INFO", "[sync-1] inventory.StockSync", sync)
    for at in sample.times(300.0):
        done = (at - BEGIN).total_seconds() / 7_200
        full = f"Volume /var/lib/inventory is {81 + int(4 * done)} % full"
        sample.log_inventory(at, "WARN", "[monitor] inventory.DiskMonitor", full)
    for at in sample.times(1_000.0):
        retry = (
            f"Stock sync with {sample.one_of(WAREHOUSES)} failed, trying again in 30 s\n"
            "java.net.SocketTimeoutException: Read timed out\n"
            "\tat java.base/sun.nio.ch.NioSocketImpl.timedRead(NioSocketImpl.java:278)\n"
            "\tat inventory.WarehouseClient.levels(WarehouseClient.java:88)"
        )
        sample.log_inventory(at, "WARN", "[sync-1] inventory.StockSync", retry)
    for at in sample.times(900.0):
        flags = "Feature flags refreshed, 0 changes"
        sample.log_inventory(at, "INFO", "[flags] inventory.FeatureFlags", flags)
    release = BEGIN + timedelta(minutes=13, seconds=8, milliseconds=412)
    for after_s, message in (
        (0, "Deployment of inventory 1.19.4 started, replaces 1.19.2"),
        (41.3, "Started inventory 1.19.4 in 12.4 seconds"),
        (42.9, "Deployment of inventory 1.19.4 finished, 1 of 1 instances"),
    ):
        at = release + timedelta(seconds=after_s)
        sample.log_inventory(at, "INFO", "[main] inventory.Application", message)


def generate() -> dict[str, str]:
    """The text of both logs by file name."""
    sample = Sample()
    for part in (
        orders,
        deployment,
        red_herring,
        checkout_noise,
        inventory_noise,
    ):
        part(sample)
    return {
        "checkout.log": "".join(f"{line}\n" for _, line in sorted(sample.checkout)),
        "inventory.log": "".join(f"{line}\n" for _, line in sorted(sample.inventory)),
    }


if __name__ == "__main__":
    for name, text in generate().items():
        (LOGS / name).write_text(text, encoding="utf-8", newline="\n")
