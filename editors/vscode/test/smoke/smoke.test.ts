// The main flows in the oldest VS Code that package.json allows.

import * as flows from "../rig/flows";
import { small, userFiles } from "../rig/samples";
import { Editor } from "../rig/servers";
import { closeBrowser, Workbench } from "../rig/workbench";

describe("in the oldest supported VS Code", () => {
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
    if (this.currentTest?.state === "failed") await w.shot(`failed-oldest-${this.currentTest.title.replace(/\W+/g, "-")}`);
  });

  it("the view of memories", () => flows.tree(w));
  it("search", () => flows.search(w));
  it("recall in the panel", () => flows.recall(w, "which port does the zanzibar gateway use", "Gateway port"));
  it("remember", async () => {
    await flows.remember(w, "The lighthouse is painted every third spring");
  });
  it("forget and undo", () => flows.forgetAndUndo(w, "ocelot", "Deploys", "deploy.md"));
});
