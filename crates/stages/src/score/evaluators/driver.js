// Runs the function `evaluate` of an evaluator in TypeScript or JavaScript. Reads a JSON object with
// the source and its context from standard input, and prints the result as JSON.
const { readFileSync } = require("node:fs");

// What the evaluator prints is no part of the answer.
const print = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

const { stripTypeScriptTypes } = require("node:module");

/** The source without types. A Node that cannot remove them runs JavaScript only. */
function script(source) {
  if (!stripTypeScriptTypes) return source;
  process.removeAllListeners("warning");
  return stripTypeScriptTypes(source, { mode: "transform" });
}

async function load(source) {
  const exported = /^\s*export\b/m.test(source) ? source : `${source}\nexport { evaluate };`;
  try {
    return await import(`data:text/javascript;base64,${Buffer.from(script(exported)).toString("base64")}`);
  } catch (error) {
    if (error instanceof SyntaxError && !stripTypeScriptTypes)
      throw new Error(`${error.message}; Node ${process.versions.node} cannot remove types: it needs 22.13, or plain JavaScript`);
    throw error;
  }
}

async function main() {
  const { source, context } = JSON.parse(readFileSync(0, "utf8"));
  const code = await load(source);
  const evaluate = code.evaluate ?? code.default;
  if (typeof evaluate !== "function") throw new Error("the source defines no function evaluate(ctx)");
  print(JSON.stringify(await evaluate(context)));
}

main().catch((error) => {
  console.error(String(error?.stack ?? error).split("\n").slice(0, 5).join("\n"));
  process.exitCode = 1;
});
