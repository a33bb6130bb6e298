// The proxy of between.py, for checks in JavaScript.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export async function between() {
  const child = spawn("python3", [`${process.env.SDK_CHECKS}/between.py`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async () => JSON.parse((await lines.next()).value);
  const tell = (...command) => {
    child.stdin.write(`${JSON.stringify(command)}\n`);
    return answer();
  };
  return {
    url: await answer(),
    next: (path, trouble, status = 503, times = 1) => tell("next", path, trouble, status, times),
    up: () => tell("up"),
    down: () => tell("down"),
    release: () => tell("release"),
    count: (path) => tell("count", path),
    end: () => child.kill(),
  };
}
