// The view of memories and the commands around it, in the real workbench, on real files.

import * as fs from "node:fs";
import * as flows from "../rig/flows";
import { small, userFiles } from "../rig/samples";
import { Editor } from "../rig/servers";
import { closeBrowser, Workbench } from "../rig/workbench";

describe("memories in the workbench", () => {
  let editor: Editor;
  let w: Workbench;

  before(async () => {
    editor = await Editor.start({ workspace: small, home: userFiles });
    w = await Workbench.open(editor);
  });
  after(async () => {
    await closeBrowser();
    editor.stop();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await w.shot(`failed-${this.currentTest.title.replace(/\W+/g, "-")}`);
  });

  it("are shown by scope and type, with their marks", () => flows.tree(w));
  it("follow a file that another program saves", async () => {
    fs.writeFileSync(flows.memoryFile(w, "new.md"), "# A tangerine note\n\nSaved from outside.\n");
    await w.row("A tangerine note").waitFor();
    fs.rmSync(flows.memoryFile(w, "new.md"));
    await w.row("A tangerine note").waitFor({ state: "detached" });
  });
  it("are found while one types", () => flows.search(w));
  it("are recalled for a prompt", () => flows.recall(w, "which port does the zanzibar gateway use", "Gateway port"));
  it("are remembered", async () => {
    await flows.remember(w, "The lighthouse is painted every third spring");
  });
  it("are forgotten after a look, and brought back", () => flows.forgetAndUndo(w, "ocelot", "Deploys", "deploy.md", "forget-small"));
});
