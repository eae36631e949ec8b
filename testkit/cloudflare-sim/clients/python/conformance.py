"""The official Python SDK as judge of the simulator."""

import auth  # noqa: F401
import batch  # noqa: F401
import changes  # noqa: F401
import creates  # noqa: F401
import harness
import kinds  # noqa: F401
import other  # noqa: F401
import reads  # noqa: F401
import zone_config  # noqa: F401
import zones  # noqa: F401

if __name__ == "__main__":
    harness.main()
