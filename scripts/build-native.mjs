// Builds the native addon for this machine: index.js and index.d.ts (generated, committed) and trihorizon.<platform>.node.
// Quiet and incremental: nothing is run when no input changed since the last build. Further arguments go to `napi build`.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const extra = process.argv.slice(2);
const stampFile = join(root, "target", "native-build.json");
const inputs = ["Cargo.toml", "Cargo.lock", "package.json", "rust-toolchain.toml", ".cargo", "crates", "packs"];

const stamp = fingerprint();
if (extra.length === 0 && upToDate(stamp)) process.exit(0);
requireCargo();
process.exitCode = await build();

async function build() {
  const started = Date.now();
  const napi = join(dirname(createRequire(import.meta.url).resolve("@napi-rs/cli/package.json")), "dist", "cli.js");
  const child = spawn(
    process.execPath,
    [
      napi,
      "build",
      "--platform",
      "--release",
      "--esm",
      `--manifest-path=${join(root, "crates", "node", "Cargo.toml")}`,
      `--package-json-path=${join(root, "package.json")}`,
      `--output-dir=${root}`,
      "--js=index.js",
      "--dts=index.d.ts",
      ...extra,
    ],
    {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, FORCE_COLOR: "0", CARGO_TERM_COLOR: "never" },
    },
  );
  let output = "";
  const live = process.stderr.isTTY === true;
  if (!live) process.stderr.write("Building the native addon (a few minutes the first time) …\n");
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
      const step = text.match(/Compiling (\S+)/g)?.at(-1);
      if (live && step) progress(`Building the native addon, ${seconds(started)} s: ${step}`);
    });
  }
  const code = await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  if (live) process.stderr.write("\r\x1b[K");
  if (code !== 0) {
    process.stderr.write(`${output}\nThe native addon was not built; the compiler's output is above.\n`);
    return 1;
  }
  if (extra.length === 0) {
    mkdirSync(dirname(stampFile), { recursive: true });
    writeFileSync(stampFile, stamp);
  }
  process.stderr.write(`Built the native addon in ${seconds(started)} s.\n`);
  return 0;
}

function requireCargo() {
  const found = spawnSync("cargo", ["--version"], { encoding: "utf8", cwd: root });
  const needed = readFileSync(join(root, "Cargo.toml"), "utf8").match(/rust-version = "([\d.]+)"/)?.[1] ?? "1.88";
  if (found.error || found.status !== 0) {
    process.stderr.write(
      [
        "trihorizon's core is written in Rust, and no working `cargo` was found on the PATH.",
        `Install Rust ${needed} or newer: with rustup (the installer the Rust project recommends), or from your`,
        "system's packages if they are new enough; open a new shell so that `cargo --version` works, then run the",
        "command again. A C++ compiler (gcc, clang or MSVC) is needed too.",
        found.error ? `(cause: ${found.error.message})` : `(cargo said: ${found.stderr.trim()})`,
        "",
      ].join("\n"),
    );
    process.exit(1);
  }
  const version = found.stdout.match(/(\d+)\.(\d+)/);
  const [major, minor] = needed.split(".").map(Number);
  if (version && (Number(version[1]) < major || (Number(version[1]) === major && Number(version[2]) < minor))) {
    process.stderr.write(
      `Rust ${needed} or newer is needed; this is ${found.stdout.trim()}. Run \`rustup update stable\`.\n`,
    );
    process.exit(1);
  }
}

function upToDate(current) {
  const built = readdirSync(root).some((name) => /^trihorizon\..+\.node$/.test(name));
  const generated = existsSync(join(root, "index.js")) && existsSync(join(root, "index.d.ts"));
  return built && generated && existsSync(stampFile) && readFileSync(stampFile, "utf8") === current;
}

/** Paths, sizes and times of everything the addon is made of; contents are cargo's business. */
function fingerprint() {
  const hash = createHash("sha256");
  for (const file of inputs.flatMap((name) => files(join(root, name))).sort()) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${relative(root, file)} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex");
}

function files(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
    entry.name === "target" ? [] : files(join(path, entry.name)),
  );
}

function progress(text) {
  process.stderr.write(`\r\x1b[K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`);
}

function seconds(since) {
  return Math.round((Date.now() - since) / 1000);
}
