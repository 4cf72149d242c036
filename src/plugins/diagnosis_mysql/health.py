"""Whether the configured server can be used now."""

from __future__ import annotations

from diagnosis.errors import SourceError
from diagnosis.plugin import Health
from diagnosis_mysql.pool import SessionPool
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.tool import check_server
from diagnosis_mysql.url import server_address


class ServerHealth:
    """Connects once and closes again."""

    name = "mysql server"

    def __init__(self, settings: MysqlSettings) -> None:
        self._settings = settings

    async def check(self) -> Health:
        """Look at it now."""
        try:
            address = server_address(self._settings)
            pool = SessionPool(
                address, connections=1, connect_timeout_s=self._settings.connect_timeout_s
            )
            version = await check_server(pool, address)
            await pool.close()
        except SourceError as error:
            return Health(ok=False, detail=error.problem, mend=error.mend)
        return Health(ok=True, detail=f"{version} at {address.label}")
