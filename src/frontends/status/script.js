"use strict";
// Keeps the page live: fetches it again and again, and takes over the parts that are marked for it.
// What has the focus, what is selected and what is typed stays.
(() => {
    const PERIOD_MS = 2000;
    const LIMIT_MS = 10000;
    const summary = document.getElementById("summary");
    const notice = document.getElementById("notice");
    const live = document.getElementById("live");
    if (!summary || !live)
        return;
    let tag = "";
    let since = "";
    let timer = 0;
    let isBusy = false;
    let isPaused = false;

    const button = document.createElement("button");
    button.type = "button";
    button.id = "pause";
    live.append(button);
    document.getElementById("reload").remove();

    function showButton() {
        button.textContent = isPaused ? "Go on updating" : "Pause updating";
    }

    function report(text) {
        if (notice.textContent !== text)
            notice.textContent = text;
    }

    function isSelecting() {
        const selection = document.getSelection();
        return selection && !selection.isCollapsed && selection.toString() !== "";
    }

    // The same link or field in the new part.
    function findAgain(part, old) {
        if (old.id)
            return document.getElementById(old.id);
        const href = old.getAttribute("href");
        return [...part.querySelectorAll("a")].find((link) => link.getAttribute("href") === href);
    }

    function take(part, fresh) {
        if (!fresh || part.innerHTML === fresh.innerHTML)
            return;
        const focused = part.contains(document.activeElement) ? document.activeElement : null;
        part.replaceChildren(...fresh.childNodes);
        const again = focused && findAgain(part, focused);
        if (again)
            again.focus({preventScroll: true});
    }

    function takeAll(text) {
        const fresh = new DOMParser().parseFromString(text, "text/html");
        const line = fresh.getElementById("summary");
        for (const part of document.querySelectorAll("[data-live]"))
            take(part, fresh.getElementById(part.id));
        if (line && line.textContent !== summary.textContent)
            summary.textContent = line.textContent;
    }

    async function ask() {
        const abort = new AbortController();
        const limit = setTimeout(() => abort.abort(), LIMIT_MS);
        try {
            const reply = await fetch(location.href, {
                cache: "no-store",
                credentials: "same-origin",
                headers: tag ? {"If-None-Match": tag} : {},
                signal: abort.signal,
            });
            if (reply.status !== 304 && reply.status !== 200)
                return `Signpost answers ${reply.status}`;
            if (reply.status === 200) {
                const text = await reply.text();
                takeAll(text);
                tag = reply.headers.get("ETag") || "";
            }
            return "";
        } catch {
            return "Signpost does not answer";
        } finally {
            clearTimeout(limit);
        }
    }

    async function refresh() {
        if (isBusy || isPaused || document.hidden || isSelecting())
            return;
        isBusy = true;
        const trouble = await ask();
        isBusy = false;
        if (!trouble)
            since = "";
        else if (!since)
            since = new Date().toISOString().slice(11, 19);
        report(trouble && `${trouble} (since ${since} UTC). What is shown is from before; ` +
               "the page goes on trying.");
    }

    function schedule() {
        clearInterval(timer);
        timer = setInterval(refresh, PERIOD_MS);
    }

    button.addEventListener("click", () => {
        isPaused = !isPaused;
        showButton();
        refresh();
    });
    document.addEventListener("visibilitychange", () => {
        if (!document.hidden)
            refresh();
    });
    showButton();
    schedule();
})();
