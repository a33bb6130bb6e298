"""Makes a promotion live two hours earlier than it was: watches last at least one hour.

Arguments: the catalog of a stopped server, and the promotion's id.
"""

import json
import sqlite3
import sys

catalog, promotion = sys.argv[1:]
with sqlite3.connect(catalog) as database:
    (text,) = database.execute("SELECT document FROM promotion WHERE id = ?", [promotion]).fetchone()
    document = json.loads(text)
    document["liveAt"] -= 2 * 3_600 * 10**9
    database.execute("UPDATE promotion SET document = ? WHERE id = ?", [json.dumps(document), promotion])
