"""What an upgrade needs: releases kept as fixtures, the rules between two of them, and both side by side under load."""
