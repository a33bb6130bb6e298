//! What developers ask for, in four projects that do not exist.

#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) name: &'static str,
    /// How its tests are run.
    pub(crate) test: &'static str,
    /// Files that are in the way while one looks for something.
    pub(crate) others: [&'static str; 7],
}

/// A billing library in Rust.
const LEDGERLINE: Repository = Repository {
    name: "ledgerline",
    test: "cargo test --quiet",
    others: [
        "src/lib.rs",
        "src/account.rs",
        "src/currency.rs",
        "src/period.rs",
        "src/export.rs",
        "tests/rounding.rs",
        "README.md",
    ],
};
/// A pipeline for tide gauges in Python.
const TIDEPOOL: Repository = Repository {
    name: "tidepool",
    test: "pytest -q",
    others: [
        "tidepool/__init__.py",
        "tidepool/gauges.py",
        "tidepool/store.py",
        "tidepool/units.py",
        "tidepool/cli.py",
        "tests/test_units.py",
        "pyproject.toml",
    ],
};
/// A shop front in TypeScript.
const ORCHARD: Repository = Repository {
    name: "orchard-web",
    test: "npm test -- --run",
    others: [
        "src/app.tsx",
        "src/routes.ts",
        "src/api/client.ts",
        "src/components/Price.tsx",
        "src/components/Basket.tsx",
        "src/i18n/de.json",
        "vite.config.ts",
    ],
};
/// A queue worker in Go.
const KESTREL: Repository = Repository {
    name: "kestrel",
    test: "go test ./...",
    others: [
        "main.go",
        "queue/queue.go",
        "queue/lease.go",
        "worker/pool.go",
        "worker/retry.go",
        "internal/clock/clock.go",
        "go.mod",
    ],
};

/// A change to one file.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) file: &'static str,
    pub(crate) old: &'static str,
    pub(crate) new: &'static str,
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) repository: &'static Repository,
    pub(crate) request: &'static str,
    pub(crate) symbol: &'static str,
    /// The steps on the list.
    pub(crate) plan: [&'static str; 4],
    /// The changes that do it.
    pub(crate) changes: [Change; 3],
    /// A change that looks right and is not.
    pub(crate) detour: Change,
    /// How the tests fail before the last change.
    pub(crate) failure: &'static str,
    pub(crate) success: &'static str,
    /// What the developer has to say about the detour.
    pub(crate) correction: &'static str,
    /// What goes into the log.
    pub(crate) commit: &'static str,
}

pub(crate) const TASKS: [Task; 6] = [
    Task {
        repository: &LEDGERLINE,
        request: "Invoices with more than one tax rate are off by a cent now and then. Find out why and fix it. Do not change the public API.",
        symbol: "round_cents",
        plan: [
            "Reproduce with two tax rates",
            "Find where cents are rounded",
            "Round once per invoice",
            "Add a regression test",
        ],
        changes: [
            Change {
                file: "src/invoice.rs",
                old: "let tax = line.net * rate;\ntotal += round_cents(line.net + tax);",
                new: "let tax = line.net * rate;\nexact += line.net + tax;",
            },
            Change {
                file: "src/tax.rs",
                old: "pub fn round_cents(amount: Decimal) -> Decimal {\n    amount.round_dp(2)\n}",
                new: "/// Rounds half to even, once, at the end of an invoice.\npub fn round_cents(amount: Decimal) -> Decimal {\n    amount.round_dp_with_strategy(2, MidpointNearestEven)\n}",
            },
            Change {
                file: "tests/invoice.rs",
                old: "// more cases to come",
                new: "#[test]\nfn two_rates_add_up_to_the_cent() {\n    assert_eq!(invoice(&[(dec!(0.333), dec!(0.19)), (dec!(0.333), dec!(0.07))]).total(), dec!(0.75));\n}",
            },
        ],
        detour: Change {
            file: "src/lib.rs",
            old: "pub fn total(&self) -> Decimal",
            new: "pub fn total(&self) -> Cents",
        },
        failure: "running 41 tests\n........................F................\n\nfailures:\n---- two_rates_add_up_to_the_cent\nassertion `left == right` failed\n  left: 0.76\n right: 0.75\n\ntest result: FAILED. 40 passed; 1 failed",
        success: "running 41 tests\n.........................................\n\ntest result: ok. 41 passed; 0 failed",
        correction: "Stop. `total()` is public, I said not to change the API. Other crates depend on it.",
        commit: "Round invoices once instead of once per line",
    },
    Task {
        repository: &TIDEPOOL,
        request: "The nightly import chokes on gauges that report feet. Convert to metres on the way in, and keep the raw value.",
        symbol: "level_m",
        plan: [
            "Look at how readings come in",
            "Add a unit to the reading",
            "Convert feet to metres",
            "Test with a mixed file",
        ],
        changes: [
            Change {
                file: "tidepool/reading.py",
                old: "    level_m: float",
                new: "    level_m: float\n    raw_value: float\n    raw_unit: str",
            },
            Change {
                file: "tidepool/importer.py",
                old: "level_m=float(row[\"level\"]),",
                new: "level_m=to_metres(float(row[\"level\"]), row.get(\"unit\", \"m\")),\nraw_value=float(row[\"level\"]),\nraw_unit=row.get(\"unit\", \"m\"),",
            },
            Change {
                file: "tests/test_importer.py",
                old: "def test_plain_file():",
                new: "def test_feet_become_metres():\n    reading = load(\"mixed.csv\")[1]\n    assert reading.level_m == pytest.approx(3.048)\n    assert reading.raw_unit == \"ft\"\n\n\ndef test_plain_file():",
            },
        ],
        detour: Change {
            file: "tidepool/store.py",
            old: "SCHEMA_VERSION = 7",
            new: "SCHEMA_VERSION = 8",
        },
        failure: "....F.........\nFAILED tests/test_importer.py::test_feet_become_metres - KeyError: 'unit'\n1 failed, 13 passed in 1.92s",
        success: "..............\n14 passed in 1.88s",
        correction: "Please leave the schema version alone, the stations cannot migrate before May. Keep the raw value in the payload column.",
        commit: "Convert feet to metres on import and keep the raw value",
    },
    Task {
        repository: &ORCHARD,
        request: "On slow phones the basket shows the old price for a second after a quantity change. It should never show a stale price.",
        symbol: "useBasketTotal",
        plan: [
            "Find what renders the total",
            "See where the stale value comes from",
            "Show a placeholder while it settles",
            "Cover it with a component test",
        ],
        changes: [
            Change {
                file: "src/components/BasketTotal.tsx",
                old: "const total = useBasketTotal(basket)\nreturn <Price value={total} />",
                new: "const { total, isSettled } = useBasketTotal(basket)\nreturn isSettled ? <Price value={total} /> : <PricePlaceholder />",
            },
            Change {
                file: "src/hooks/useBasketTotal.ts",
                old: "return cached ?? computed",
                new: "return { total: computed, isSettled: cached?.version === basket.version }",
            },
            Change {
                file: "src/components/BasketTotal.test.tsx",
                old: "describe('BasketTotal', () => {",
                new: "describe('BasketTotal', () => {\n  it('never shows the price of an older basket', async () => {\n    render(<BasketTotal basket={changed} />)\n    expect(screen.queryByText('12,00 €')).toBeNull()\n  })\n",
            },
        ],
        detour: Change {
            file: "src/hooks/useBasketTotal.ts",
            old: "staleTime: 5_000",
            new: "staleTime: 0",
        },
        failure: " FAIL  src/components/BasketTotal.test.tsx > never shows the price of an older basket\nTestingLibraryElementError: expected null, received <span>12,00 €</span>\n\n Tests  1 failed | 58 passed (59)",
        success: " Test Files  12 passed (12)\n      Tests  59 passed (59)",
        correction: "Setting staleTime to 0 only makes it refetch more often. The problem is that we render a total that belongs to another version of the basket.",
        commit: "Show a placeholder until the basket total has settled",
    },
    Task {
        repository: &KESTREL,
        request: "Two workers sometimes run the same job. I think leases are renewed too late. Please fix it and make it testable without sleeping.",
        symbol: "RenewLease",
        plan: [
            "Write a test with a fake clock",
            "Find out when leases are renewed",
            "Renew at half time",
            "Refuse work on an expired lease",
        ],
        changes: [
            Change {
                file: "queue/lease.go",
                old: "renewAt := lease.Expires.Add(-time.Second)",
                new: "renewAt := lease.Taken.Add(lease.Length / 2)",
            },
            Change {
                file: "worker/pool.go",
                old: "job.Run(ctx)",
                new: "if lease.ExpiredAt(p.clock.Now()) {\n\treturn ErrLeaseLost\n}\njob.Run(ctx)",
            },
            Change {
                file: "queue/lease_test.go",
                old: "func TestTakeLease(t *testing.T) {",
                new: "func TestLeaseIsRenewedAtHalfTime(t *testing.T) {\n\tclock := fake.NewClock()\n\tlease := take(t, clock, 10*time.Second)\n\tclock.Advance(5 * time.Second)\n\tif lease.Renewals() != 1 {\n\t\tt.Fatalf(\"got %d renewals\", lease.Renewals())\n\t}\n}\n\nfunc TestTakeLease(t *testing.T) {",
            },
        ],
        detour: Change {
            file: "queue/lease.go",
            old: "const leaseLength = 10 * time.Second",
            new: "const leaseLength = 60 * time.Second",
        },
        failure: "--- FAIL: TestLeaseIsRenewedAtHalfTime (0.00s)\n    lease_test.go:31: got 0 renewals\nFAIL\nFAIL\tkestrel/queue\t0.014s\nok  \tkestrel/worker\t0.101s",
        success: "ok  \tkestrel/queue\t0.013s\nok  \tkestrel/worker\t0.098s",
        correction: "A longer lease hides the bug, it does not fix it. When a worker dies we would wait a whole minute.",
        commit: "Renew leases at half time and refuse work on expired ones",
    },
    Task {
        repository: &LEDGERLINE,
        request: "Add an export of all bookings of a period as CSV. Semicolons, comma decimals, UTF-8 with BOM: our accountant uses an old spreadsheet.",
        symbol: "Exporter",
        plan: [
            "See how exports are structured",
            "Write the CSV exporter",
            "Handle quoting and decimals",
            "Document it",
        ],
        changes: [
            Change {
                file: "src/export.rs",
                old: "pub enum Format { Json }",
                new: "pub enum Format { Json, Csv }",
            },
            Change {
                file: "src/export/csv.rs",
                old: "",
                new: "//! Semicolons, comma decimals and a byte order mark, for spreadsheets of a certain age.\n\npub fn write(bookings: &[Booking], out: &mut impl Write) -> io::Result<()> {\n    out.write_all(\"\\u{feff}\".as_bytes())?;\n    bookings.iter().try_for_each(|booking| row(booking, out))\n}",
            },
            Change {
                file: "README.md",
                old: "## Exports",
                new: "## Exports\n\n`--format csv` writes what German spreadsheets expect.",
            },
        ],
        detour: Change {
            file: "Cargo.toml",
            old: "[dependencies]",
            new: "[dependencies]\npolars = \"0.46\"",
        },
        failure: "running 44 tests\n..........................................FF\n\nfailures:\n---- csv_quotes_semicolons\nassertion `left == right` failed\n  left: \"Rent; May\"\n right: \"\\\"Rent; May\\\"\"\n\ntest result: FAILED. 42 passed; 2 failed",
        success: "running 44 tests\n............................................\n\ntest result: ok. 44 passed; 0 failed",
        correction: "We do not need a dataframe library to write forty lines of CSV. Please take the dependency out again.",
        commit: "Export bookings as CSV",
    },
    Task {
        repository: &TIDEPOOL,
        request: "`tidepool sync` uploads every file again after a crash. Make it resume. The upload token is in the environment.",
        symbol: "upload_all",
        plan: [
            "Find where uploads are recorded",
            "Write a journal of finished files",
            "Skip what the journal lists",
            "Test a crash in the middle",
        ],
        changes: [
            Change {
                file: "tidepool/sync.py",
                old: "for path in files:\n    upload(path)",
                new: "for path in files:\n    if path.name in journal:\n        continue\n    upload(path)\n    journal.add(path.name)",
            },
            Change {
                file: "tidepool/journal.py",
                old: "",
                new: "class Journal:\n    \"\"\"Names of files that are up, one per line, flushed after each.\"\"\"\n\n    def add(self, name: str) -> None:\n        self.file.write(name + \"\\n\")\n        self.file.flush()\n        os.fsync(self.file.fileno())",
            },
            Change {
                file: "tests/test_sync.py",
                old: "def test_uploads_everything():",
                new: "def test_resumes_after_a_crash():\n    crash_after(3)\n    sync()\n    assert uploads() == sorted(set(uploads()))\n\n\ndef test_uploads_everything():",
            },
        ],
        detour: Change {
            file: "tidepool/sync.py",
            old: "upload(path)",
            new: "if not remote_exists(path):\n    upload(path)",
        },
        failure: "..F......\nFAILED tests/test_sync.py::test_resumes_after_a_crash - AssertionError: 'gauge-04.csv' uploaded twice\n1 failed, 8 passed in 2.41s",
        success: ".........\n9 passed in 2.37s",
        correction: "Asking the server for every file costs us money, there are forty thousand. Keep a journal locally.",
        commit: "Resume uploads after a crash",
    },
];
