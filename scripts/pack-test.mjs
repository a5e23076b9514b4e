// Installs the package as users get it, the packed tarball and the binary's own package, into an empty project without a
// network, and uses it there: import, require, command, types, store contract.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const work = mkdtempSync(join(tmpdir(), "trihorizon-pack-"));
const project = join(work, "project");
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

/** What a typed user writes; compiled against the installed types with `skipLibCheck` off. */
const types = `import { createEngine, fileStore, TrihorizonError, type Embedder, type ErrorCode, type Intent, type Turn } from "trihorizon";
import { storeContract } from "trihorizon/store-contract";
const embedder: Embedder = { id: "x", dimensions: 3, embed: () => new Float32Array(3) };
const engine = createEngine({ embedder, store: fileStore("s"), blend: { CLARIFY: { P: 0, C: 1, E: 0 } }, tokens: (text) => text.length });
const turn: Turn = engine.session("s", { namespace: "n" }).assemble("x", { budget: 10 });
const intent: Intent = turn.intent;
const code: ErrorCode = new TrihorizonError("STORE", "x").code;
// @ts-expect-error unknown options are refused by the types as well
createEngine({ halflife: 3 });
// @ts-expect-error the union of codes is closed
const wrong: ErrorCode = "OOPS";
export { code, intent, storeContract, wrong };
`;

try {
  const main = pack(root);
  const binary = pack(binaryPackage());
  mkdirSync(project);
  write("package.json", { name: "uses-trihorizon", private: true, type: "module" });
  run(npm, ["install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", main, binary]);
  write("import.mjs", usage('import { createEngine } from "trihorizon";'));
  write("require.cjs", usage('const { createEngine } = require("trihorizon");'));
  write(
    "contract.mjs",
    'import { test } from "node:test"; import { memoryStore } from "trihorizon"; import { storeContract } from "trihorizon/store-contract"; storeContract(() => ({ store: memoryStore() }), test);',
  );
  write("types.ts", types);
  write("tsconfig.json", {
    compilerOptions: {
      module: "nodenext",
      target: "es2023",
      lib: ["es2023", "esnext.disposable"],
      strict: true,
      noEmit: true,
      types: [],
    },
    files: ["types.ts"],
  });
  for (const script of ["import.mjs", "require.cjs"]) expect(script, run(process.execPath, [script]), "2\n");
  run(process.execPath, ["--test", "contract.mjs"]);
  run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", "."]);
  const lines = run(process.execPath, [join("node_modules", "trihorizon", "dist", "cli.js"), "replay", "--json"])
    .trim()
    .split("\n");
  if (lines.length < 10) throw new Error(`the command printed ${lines.length} lines`);
  process.stdout.write(`The packed tarball installs and works (${manifest.name} ${manifest.version}).\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

function usage(load) {
  return `${load}
const engine = createEngine();
const chat = engine.session("s");
chat.append({ role: "user", content: "How do I configure etcd?" });
chat.append({ role: "assistant", content: "1. Write etcd.conf.\\n2. Open port 2379.\\n3. Start it." });
console.log(chat.assemble("tell me more about the second step").references[0].target.id);
engine.close();
`;
}

/** The package that a release publishes for this platform. */
function binaryPackage() {
  const file = readdirSync(root).find((name) => /^trihorizon\..+\.node$/.test(name));
  if (file === undefined) throw new Error("no binary: run npm run build");
  const folder = join(work, "binary");
  mkdirSync(folder);
  copyFileSync(join(root, file), join(folder, file));
  const name = `${manifest.name}-${file.split(".")[1]}`;
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name, version: manifest.version, main: file, files: [file] }),
  );
  return folder;
}

function pack(folder) {
  const [packed] = JSON.parse(run(npm, ["pack", "--json", "--pack-destination", work], folder));
  return join(work, packed.filename);
}

function run(command, args, cwd = project) {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1 << 28,
  });
}

function write(name, content) {
  writeFileSync(join(project, name), typeof content === "string" ? content : JSON.stringify(content));
}

function expect(what, found, wanted) {
  if (found !== wanted) throw new Error(`${what} printed ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
}
