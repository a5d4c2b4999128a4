"use strict";
// Sorts a table by the column whose title is clicked, and hides rows that lack the filter's text.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.querySelectorAll("th button").forEach((button, column) => {
    button.addEventListener("click", () => {
      const head = button.parentElement;
      const down = head.getAttribute("aria-sort") !== "descending";
      const key = (row) => {
        const cell = row.cells[column];
        const value = cell.dataset.value;
        return value === undefined ? cell.textContent : Number(value);
      };
      const rows = Array.from(body.rows).sort((a, b) => {
        const x = key(a), y = key(b);
        const order = typeof x === "number" ? x - y : x.localeCompare(y);
        return down ? -order : order;
      });
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...rows);
    });
  });
}
for (const input of document.querySelectorAll("input[data-filters]")) {
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const item of document.querySelectorAll(input.dataset.filters))
      item.hidden = !item.textContent.toLowerCase().includes(wanted);
  });
}
