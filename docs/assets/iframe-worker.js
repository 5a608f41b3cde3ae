// Pages that are opened as files may start no workers: their search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const { contentWindow: inside, contentDocument: page } = this.frame;
      inside.postMessage = (message) => {
        const data = structuredClone(message);
        setTimeout(() => this.onmessage?.({ data }));
      };
      this.loaded = new Promise((done) => {
        const script = page.createElement("script");
        script.src = address;
        script.onload = done;
        script.onerror = (event) => this.onerror?.(event);
        page.body.append(script);
      });
    }

    async postMessage(message) {
      const data = structuredClone(message);
      await this.loaded;
      this.frame.contentWindow?.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
