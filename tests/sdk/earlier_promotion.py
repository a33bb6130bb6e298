"""Makes a promotion live earlier than it was: watches last at least one hour, and sessions count an
hour after their end.

Arguments: the catalog of a stopped server, the promotion's id, and minutes.
"""

import json
import sqlite3
import sys

catalog, promotion, minutes = sys.argv[1:]
with sqlite3.connect(catalog) as database:
    (text,) = database.execute("SELECT document FROM promotion WHERE id = ?", [promotion]).fetchone()
    document = json.loads(text)
    document["liveAt"] -= int(minutes) * 60 * 10**9
    database.execute("UPDATE promotion SET document = ? WHERE id = ?", [json.dumps(document), promotion])
