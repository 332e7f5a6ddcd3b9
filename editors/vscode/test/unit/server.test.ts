import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { check, locate, NoServer, tooOld } from "../../src/server";

describe("finding memls", function () {
  let dir: string;
  const unix = process.platform !== "win32";
  before(function () {
    if (!unix) this.skip();
    dir = fs.mkdtempSync(path.join(os.tmpdir(), "memls-server-"));
  });
  after(() => {
    if (dir) fs.rmSync(dir, { recursive: true });
  });
  const script = (name: string, body: string): string => {
    const file = path.join(dir, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    return file;
  };
  const why = (wanted: NoServer["why"]) => (error: unknown) => error instanceof NoServer && error.why === wanted;

  it("takes the setting before the bundled one before PATH", () => {
    const set = script("set/other", "");
    const bundled = script("ext/bin/memls", "");
    const onPath = script("path/memls", "");
    assert.deepEqual(locate(set, path.join(dir, "ext"), path.join(dir, "path")), { command: set, origin: "setting" });
    assert.deepEqual(locate("", path.join(dir, "ext"), path.join(dir, "path")), { command: bundled, origin: "bundled" });
    assert.deepEqual(locate("", dir, `/nowhere:${path.join(dir, "path")}`), { command: onPath, origin: "path" });
  });
  it("does not fall back from a setting that is wrong", () => {
    script("ext/bin/memls", "");
    assert.throws(() => locate(path.join(dir, "gone"), path.join(dir, "ext"), ""), why("setting_missing"));
    assert.throws(() => locate("memls", path.join(dir, "ext"), path.join(dir, "path")), why("setting_missing"));
  });
  it("follows no relative entry of PATH, which would lead into the workspace", () => {
    script("work/memls", "");
    const cwd = process.cwd();
    process.chdir(path.join(dir, "work"));
    try {
      assert.throws(() => locate("", dir, ".:"), why("missing"));
    } finally {
      process.chdir(cwd);
    }
  });
  it("VSC-01 refuses what is no memls, too old, or of another protocol", async () => {
    await assert.rejects(check("/bin/false"), why("not_memls"));
    await assert.rejects(check(script("a", "echo hello")), why("not_memls"));
    await assert.rejects(check(script("b", "echo null")), why("not_memls"));
    await assert.rejects(check(script("c", `echo '{"version":"v0.0.9","protocol":1}'`)), why("too_old"));
    await assert.rejects(check(script("d", `echo '{"version":"v9.0.0","protocol":2}'`)), why("protocol"));
    assert.equal(await check(script("e", `echo '{"version":"v0.1.0-3-gabc","protocol":1}'`)), "v0.1.0-3-gabc");
  });
  it("compares versions by their numbers", () => {
    assert.deepEqual(["v0.0.9", "0.0.1-rc", "v0.1.0", "v0.10.0", "v1.0.0", "dev", "a1b2c3d"].map(tooOld), [true, true, false, false, false, false, false]);
  });
});
