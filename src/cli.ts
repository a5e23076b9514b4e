#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { TrihorizonError } from "./errors.js";
import { bench, benchUsage } from "./cli/bench.js";
import { ExitStatus, UsageError } from "./cli/exit.js";
import { replay, replayUsage } from "./cli/replay.js";

const usage = `trihorizon: what should the model see for this turn?

  trihorizon replay [FILE]   feeds a conversation to the engine turn by turn and shows what it decides
  trihorizon bench           times the engine on this machine and prints a table to paste
  trihorizon --version
  trihorizon --help

${replayUsage}
${benchUsage}`;

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // The reader has seen enough: `trihorizon replay FILE | head`.
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    return await run(args);
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`trihorizon: ${error.message}\n\n${usage}`);
      return ExitStatus.Usage;
    }
    if (error instanceof TrihorizonError) {
      process.stderr.write(`trihorizon: ${error.message} (${error.code})\n`);
      return ExitStatus.Failure;
    }
    throw error;
  }
}

async function run([command, ...rest]: readonly string[]): Promise<number> {
  switch (command) {
    case "replay":
      return replay(rest, usage);
    case "bench":
      return bench(rest, usage);
    case "--version":
    case "-v":
      process.stdout.write(
        `${(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version}\n`,
      );
      return ExitStatus.Done;
    case "--help":
    case "-h":
    case "help":
      process.stdout.write(usage);
      return ExitStatus.Done;
    default:
      throw new UsageError(
        command === undefined ? "a command is needed" : `unknown command ${JSON.stringify(command)}`,
      );
  }
}
