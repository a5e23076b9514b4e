import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Tests spawn processes and load the addon; two cores are common in CI.
    testTimeout: 60_000,
  },
});
